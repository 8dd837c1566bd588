-- The names of these items, by index, as their records have them (nil: none has follow-ups). Items to which follow-ups were
-- attached have another name, at their number and `+` in FOLLOW_UPS, because a holder of a lease knows the record as it was.
local function attached_names(numbers, names)
  if #numbers == 0 or not read_settings().attached then return names end
  local fields = {}
  for i, number in ipairs(numbers) do fields[i] = number .. '+' end
  for i, name in ipairs(redis.call('HMGET', FOLLOW_UPS, unpack(fields))) do
    if name and #name == NAME then
      names = names or {}
      names[i] = name
    end
  end
  return names
end
