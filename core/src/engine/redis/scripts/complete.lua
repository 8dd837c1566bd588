-- Completes items: each is deleted, for exactly one caller.
-- KEYS  see parts/keys.lua
-- ARGV  [1] lane, [2] number, from [3] what parts/complete.lua reads
-- Reply a string: for each item 1 (true: completed by this call) or 0 (false)
local done = load_reply()
if done then return done end
local refused = refusal(redis.call('HGET', META, 'format'))
if refused then return refused end

local answer = complete(3, #ARGV)
if notify_opened then notify_opened() end
save_reply(answer)
return answer
