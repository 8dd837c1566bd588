-- True if this number is that of the item with this id. Large records are not read for this.
local function leads_to(id, number)
  local size = redis.call('HSTRLEN', ITEMS, number)
  if size == 0 or size > 65536 then return size > 0 end
  local record = redis.call('HGET', ITEMS, number)
  return string.sub(record, 3, 2 + #id) == id and struct.unpack('>I2', record .. '\0\0') == #id
end
