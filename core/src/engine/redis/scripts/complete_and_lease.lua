-- Completes items, then leases others, in one step and under one number of the lane.
-- KEYS  see parts/keys.lua, all
-- ARGV  [1] lane, [2] number, [3] where the part about completing ends, from [4] to there what
--       parts/complete.lua reads, and from there on what parts/lease.lua reads (1,000 items in all
--       at most)
-- Reply [1] to [5] as lease.lua, [6] as complete.lua
local done, at = load_reply()
if done and not at then return done end
if done then
  local answer, names = string.match(done, '^(%d*) (.*)$')
  take_again(names)
  return { text(at), 0, numbers, records, extras, answer }
end

local last = tonumber(ARGV[3])
local answer = last > 3 and complete(4, last) or '' -- nothing, when only a lost answer is asked for
local look = lease(last + 1, #answer)
save_reply(answer, held)
return { now, look, numbers, records, extras, answer }
