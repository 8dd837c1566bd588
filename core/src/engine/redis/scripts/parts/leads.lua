-- True if this number is that of the item with this id; a record of more than `most` bytes, if that is
-- given, is not read for this but trusted.
-- Who holds a lease names both. Numbers tell generations apart as long as one server gives them; one that
-- took over without the latest data may give the number of a lost item to another, in the same
-- millisecond. What is asked first is cheaper: whether IDS has this number for the id.
local function leads_to(id, number, most)
  if most and redis.call('HSTRLEN', ITEMS, number) > most then return true end
  local record = redis.call('HGET', ITEMS, number)
  if not record or string.sub(record, 3, 2 + #id) ~= id then return false end
  return struct.unpack('>I2', string.sub(record, 1, 2) .. '\0\0') == #id
end
