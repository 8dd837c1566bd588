-- The record without its unique key.
local function without_key(record)
  local _, _, key, data_at = read_head(record)
  if not key then return record end
  local word = struct.unpack('>I2', record)
  return struct.pack('>I2', word - UNIQUE) .. string.sub(record, 3, data_at - #key - 3) .. string.sub(record, data_at)
end
