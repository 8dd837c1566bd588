-- Completes items, then leases others, in one step and under one number of the lane.
-- KEYS  see parts/keys.lua
-- ARGV  [1] lane, [2] number, [3] index of the last argument of the first half, from [4] to there what
--       parts/lease.lua reads, then what parts/complete.lua reads (at most 1,000 items in all)
-- Reply [1] to [5] as lease.lua, [6] as complete.lua
local done, at = load_reply()
if done and not at then return done end
if done then
  local answer, names = string.match(done, '^(%d*) (.*)$')
  take_saved(names)
  return { text(at), 0, numbers, records, details, answer }
end

local refused = refusal(redis.call('HGET', META, 'format'))
if refused then return refused end
local last = tonumber(ARGV[3])
-- Nothing to complete: asks for a lost reply.
local answer, deferred = '', ''
if last < #ARGV then
  answer, deferred = string.match(complete(last + 1, #ARGV), '^(%d*)(.*)$')
end
local look = lease(4, last, #answer)
save_reply(answer, saved)
return { now, look, numbers, records, details, answer .. deferred }
