-- Takes what other queues tell about groups, which may be repeated. `joins`: this queue, `source`, has members of these groups.
-- One that is cancelled answers that.
local function take_joins(joins, source)
  local fields, notes, values = {}, {}, {}
  for _, join in ipairs(joins) do
    fields[#fields + 1], fields[#fields + 2] = 'G' .. join.id, field_of_joined(join)
  end
  local found = redis.call('HMGET', GROUPS, unpack(fields))
  for i, join in ipairs(joins) do
    local group, joined = read_group(join.id, found[2 * i - 1]), found[2 * i] or NOT_JOINED
    if group and group.number == join.number and not group.over then
      if string.sub(joined, 1, 1) == 'x' then notes[#notes + 1] = note_of_report(source, 'x', group.id, group.number) end
      if not string.find(joined, ' ' .. source .. ' ', 1, true) then
        values[#values + 1], values[#values + 2] = fields[2 * i], joined .. source .. ' '
      end
    end
  end
  write_notes(notes)
  if #values > 0 then redis.call('HSET', GROUPS, unpack(values)) end
end
