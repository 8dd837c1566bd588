-- True if this number is that of the item with this id; a record of more than `most` bytes, if that is
-- given, is not read for this but trusted.
local function leads_to(id, number, most)
  if most and redis.call('HSTRLEN', ITEMS, number) > most then return true end
  local record = redis.call('HGET', ITEMS, number)
  if not record or string.sub(record, 3, 2 + #id) ~= id then return false end
  return struct.unpack('>I2', string.sub(record, 1, 2) .. '\0\0') == #id
end
