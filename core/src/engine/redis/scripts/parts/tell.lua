-- A note that tells another queue something about a group, as the end of a member does: distribute.lua puts it into the outbox.
-- `state`: see parts/read_report.lua.
local function note_of_report(queue, state, id, number)
  return '0t' .. queue .. ' ' .. '\0' .. state .. struct.pack('>I4I2', 0, #id) .. id .. number
end
