-- Deletes successors without a trace. They are no members of groups. `kept`: fields of SUCCESSORS, and names of follow-ups, that
-- others have by now.
local function discard(successors, kept)
  local gone, lost, names = {}, {}, {}
  for n, one in ipairs(successors) do gone[n] = one.number end
  for _, name in pairs(find_names(gone) or {}) do
    if not kept[name] then names[#names + 1] = name end
  end
  for _, field in ipairs(fields_of(successors)) do
    if not kept[field] then lost[#lost + 1] = field end
  end
  if #names > 0 then redis.call('HDEL', FOLLOW_UPS, unpack(names)) end
  if #lost > 0 then redis.call('HDEL', SUCCESSORS, unpack(lost)) end
  redis.call('HDEL', DETAILS, unpack(gone))
  redis.call('HDEL', ITEMS, unpack(gone))
end
