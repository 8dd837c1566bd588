-- Deletes a group in one command.
local function delete_group(group)
  local fields = { 'G' .. group.id, field_of_joined(group) }
  for index = 0, MOST_PLACES / IN_FIELD - 1 do fields[#fields + 1] = field_of_places(group, index) end
  redis.call('HDEL', GROUPS, unpack(fields))
  -- Those of a group that has ended go with the note of its end.
  if not group.over and group.name ~= '' then redis.call('HDEL', FOLLOW_UPS, group.name) end
end
