-- Completes items, then leases others, in one step and under one number of the lane.
-- KEYS  see parts/keys.lua, all
-- ARGV  [1] lane, [2] number, [3] index of the last argument of the first half, from [4] to there what
--       parts/complete.lua reads, then what parts/lease.lua reads (at most 1,000 items in all)
-- Reply [1] to [5] as lease.lua, [6] as complete.lua
local done, at = load_reply()
if done and not at then return done end
if done then
  local answer, names = string.match(done, '^(%d*) (.*)$')
  take_saved(names)
  return { text(at), 0, numbers, records, details, answer }
end

local last = tonumber(ARGV[3])
local answer = last > 3 and complete(4, last) or '' -- nothing to complete: asks for a lost reply
local look = lease(last + 1, #answer)
save_reply(answer, saved)
return { now, look, numbers, records, details, answer }
