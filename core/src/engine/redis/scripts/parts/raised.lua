-- When the limit of the queue was raised, the lines of all keys may move. `raised` in META says that there are keys to
-- open, and where in LINES to go on ('': at the beginning). Opens up to `most` of them; returns whether there may be more.
local function open_raised(most)
  local from = redis.call('HGET', META, 'raised')
  if not from then return false end
  local keys, flagged, at_end, last_line = {}, {}, false, nil
  while #keys < most and not at_end do
    local entry = redis.call('ZRANGE', LINES, from == '' and '-' or '(' .. from, '+', 'BYLEX', 'LIMIT', 0, 1)[1]
    if entry then
      local line = string.sub(entry, 1, 1 + (string.byte(entry) or 0))
      keys[#keys + 1] = string.sub(line, 2)
      -- Behind all digits. An entry that is damaged may stand even behind that, or before all keys.
      from = entry == '' and '\0' or line == last_line and entry or line .. ':'
      last_line = line
    else
      at_end = true
    end
  end
  if #keys > 0 then
    local places = read_places(keys)
    for _, key in ipairs(keys) do
      if places[key].flag then flagged[#flagged + 1] = key end
    end
    open_keys(flagged, places)
  end
  if at_end then redis.call('HDEL', META, 'raised') else redis.call('HSET', META, 'raised', from) end
  key_step.calls = key_step.calls + #keys
  return not at_end
end
