-- Reports about groups, as packed items that begin with 0 instead of what fires them:
--   the length (4 bytes), 0, a letter, the place (4 bytes), the length of the stored id of the group (2 bytes), this, the number
--   of the group
-- The letter is the state of the place (parts/groups.lua), or `+`: a member has been added that had been refused. Or the place is
-- 0, and it is `j`: the queue that reports has members of the group; or `x`: the group, which is one of the queue that reports,
-- is cancelled.
local function read_report(packed)
  local _, _, state, place, length = struct.unpack('>I4BBI4I2', packed)
  local report = { state = string.char(state), place = place, id = string.sub(packed, 13, 12 + length),
    number = string.sub(packed, 13 + length) }
  return string.match(report.state, '^[-ecr+jx]$') and report
end
