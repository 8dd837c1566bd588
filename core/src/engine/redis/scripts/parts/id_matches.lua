-- True if this number is that of the item with this id. A record of more than `most` bytes, if that is
-- given, is not read for this but trusted. `bytes_read`: of the records that were read for it.
local bytes_read = 0
local function id_matches(id, number, most)
  local size = redis.call('HSTRLEN', ITEMS, number)
  if size < 2 + #id then return false end
  if most and size > most then return true end
  bytes_read = bytes_read + size
  local record = redis.call('HGET', ITEMS, number)
  return struct.unpack('>I2', record) == #id and string.sub(record, 3, 2 + #id) == id
end
