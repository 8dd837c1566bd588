-- `cancels`: these groups of the queue `source` are cancelled. Members that are added later are swept, too, until the mark goes;
-- then the next one joins again. A queue that was made anew has none.
local function take_cancels(cancels, source, format)
  if format ~= EXTENDED then return end
  local notes, values = {}, {}
  for i, cancel in ipairs(cancels) do
    local group = source .. ' ' .. cancel.number
    notes[i] = '0s' .. group .. ' '
    values[2 * i - 1], values[2 * i] = 'J' .. group, 'x ' .. text(now)
  end
  write_notes(notes)
  redis.call('HSET', GROUPS, unpack(values))
end
