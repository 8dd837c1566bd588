-- The names of items, by index; nil if none has follow-ups. Details have those of large records, which are not read.
local function find_names(numbers)
  if #numbers == 0 or redis.call('EXISTS', FOLLOW_UPS) == 0 then return nil end
  local small, places, names = {}, {}, {}
  for i, packed in ipairs(redis.call('HMGET', DETAILS, unpack(numbers))) do
    -- The third character begins the size: 0 unless the record is large.
    if not packed or string.byte(packed, 3) == 48 then
      small[#small + 1], places[#places + 1] = numbers[i], i
    else
      names[i] = unpack_details(packed).sections.F
    end
  end
  for n, record in ipairs(#small > 0 and redis.call('HMGET', ITEMS, unpack(small)) or {}) do
    local _, _, _, _, _, name = read_head(record)
    names[places[n]] = name
  end
  names = attached_names(numbers, names)
  return next(names) and names
end
