-- Whether the item with this number has this id. If `most` is given, a record of more bytes is not read:
-- it counts as a match. `bytes_read` adds up the sizes of the records that were read.
local bytes_read = 0
local function id_matches(id, number, most)
  local size = redis.call('HSTRLEN', ITEMS, number)
  if size < 2 + #id then return false end
  if most and size > most then return true end
  bytes_read = bytes_read + size
  local record = redis.call('HGET', ITEMS, number)
  return read_head(record) == id
end
