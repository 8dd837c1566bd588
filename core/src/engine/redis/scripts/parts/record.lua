-- A record is the head of an item, then its data. The head has: two bytes, which are the length of the id and RETAINED
-- and UNIQUE; the id as stored; if RETAINED, for how long the item is retained after its completion (ms, 6 bytes);
-- if UNIQUE, its unique key, behind its length (2 bytes). So a client that leases the item knows all that matters
-- at its end. The head of a number never changes.
local RETAINED, UNIQUE, LENGTHS = 32768, 16384, 4096

-- Reads the head of a record. Returns the id, nil if it cannot be read; for how long the item is retained and its unique
-- key, each nil if there is none; and where the data begin.
local function read_head(record)
  local size = record and #record or 0
  local word = size >= 2 and struct.unpack('>I2', record) or 0
  local length, retain, key = word % LENGTHS, nil, nil
  local at = 3 + length
  if length == 0 or at > size + 1 then return nil end
  if word >= RETAINED then
    if at + 5 > size then return nil end
    retain, at = struct.unpack('>I6', record, at)
  end
  if word % RETAINED >= UNIQUE then
    if at + 1 > size then return nil end
    local from = at + 2
    at = from + struct.unpack('>I2', record, at)
    if at > size + 1 then return nil end
    key = string.sub(record, from, at - 1)
  end
  return string.sub(record, 3, 2 + length), retain, key, at
end
