-- Writes the places of those of the keys that have `changed`. `changed`: pairs of others and their places, if there are any.
local function write_places(keys, places, changed)
  changed = changed or {}
  local empty = {}
  for _, key in ipairs(keys) do
    local place = places[key]
    if place.changed and (place.flag or place.numbers[1]) then
      changed[#changed + 1] = key
      place.numbers[0] = place.flag or ''
      changed[#changed + 1] = table.concat(place.numbers, ' ', 0)
    elseif place.changed and place.stored then
      empty[#empty + 1] = key
    end
  end
  if #changed > 0 then redis.call('HSET', PLACES, unpack(changed)) end
  if #empty > 0 then redis.call('HDEL', PLACES, unpack(empty)) end
end

-- Opens flagged keys: their lines may move.
local function open_keys(keys, places)
  if #keys == 0 then return end
  local scored = {}
  for n, key in ipairs(keys) do scored[2 * n - 1], scored[2 * n] = text((9 - places[key].flag) * LEVEL + now), key end
  redis.call('ZADD', OPEN, 'LT', unpack(scored))
  key_step.opened, key_step.none_open = true, false
end
