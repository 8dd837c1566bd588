-- Completes items: each is deleted, for exactly one caller.
-- KEYS  see parts/keys.lua
-- ARGV  [1] lane, [2] number, from [3] what parts/complete.lua reads
-- Reply a string: for each item 1 (true: completed by this call) or 0 (false); or `~`: nothing was done, because the call
--       has not given the ready lists, to which successors go
local done = load_reply()
if done then return done end
local refused = refusal(redis.call('HGET', META, 'format'))
if refused then return refused end

local answer = complete(3, #ARGV)
if answer == '~' then return answer end
if notify_opened then notify_opened() end
save_reply(answer)
return answer
