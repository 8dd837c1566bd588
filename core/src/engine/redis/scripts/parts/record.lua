-- The id in a record, as it is stored; nil if the record cannot be read. A record begins with the length of the
-- id, two bytes.
local function id_of(record)
  local length = record and #record >= 2 and struct.unpack('>I2', record) or 0
  if length > 0 and #record >= 2 + length then return string.sub(record, 3, 2 + length) end
end
