-- Which of these items own their unique keys (false or nil: it has none), by index: the keys.
local function find_owned(keys, numbers)
  local named, places, owned = {}, {}, {}
  for i = 1, #numbers do
    if keys[i] then named[#named + 1], places[#places + 1] = keys[i], i end
  end
  for n, owner in ipairs(#named > 0 and redis.call('HMGET', UNIQUES, unpack(named)) or {}) do
    local i = places[n]
    if owner == numbers[i] then owned[i] = named[n] end
  end
  return owned
end

-- As release_owned, for items that perhaps do not own their keys: entries of others stay.
local function release_keys(keys, numbers) release_owned(find_owned(keys, numbers), numbers) end
