-- The unique keys of items whose records the script has not read, of the first 1,000 that are not large.
local function keys_of(numbers, details)
  local small, places, keys = {}, {}, {}
  if redis.call('EXISTS', UNIQUES) == 0 then return keys end
  for i, number in ipairs(numbers) do
    -- The third character begins the size: 0 unless the record is large.
    if #small < 1000 and (not details[i] or string.byte(details[i], 3) == 48) then
      small[#small + 1], places[#places + 1] = number, i
    end
  end
  for n, record in ipairs(#small > 0 and redis.call('HMGET', ITEMS, unpack(small)) or {}) do
    local _, _, key = read_head(record)
    keys[places[n]] = key
  end
  return keys
end
