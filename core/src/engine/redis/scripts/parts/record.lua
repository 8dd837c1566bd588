-- A record is the head of an item, then its data. The head has: two bytes, which are the length of the id, RETAINED,
-- UNIQUE and KEYED; the id as stored; if RETAINED, for how long the item is retained after its completion (ms, 6 bytes);
-- if KEYED, the key that limits how many items run, behind its length (1 byte); if UNIQUE, its unique key, behind its
-- length (2 bytes). So a client that leases the item knows all that matters at its end. The head of a number never changes.
local RETAINED, UNIQUE, KEYED, LENGTHS = 32768, 16384, 8192, 4096

-- Reads the head of a record. Returns the id, nil if it cannot be read; for how long the item is retained and its unique
-- key, each nil if there is none; where the data begin; and its key, nil if there is none.
local function read_head(record)
  local size = record and #record or 0
  local word = size >= 2 and struct.unpack('>I2', record) or 0
  local length, retain, unique, key = word % LENGTHS, nil, nil, nil
  local at = 3 + length
  if length == 0 or at > size + 1 then return nil end
  if word >= RETAINED then
    if at + 5 > size then return nil end
    retain, at = struct.unpack('>I6', record, at)
  end
  if word % UNIQUE >= KEYED then
    local from = at + 1
    at = from + (string.byte(record, at) or size)
    if at > size + 1 then return nil end
    key = string.sub(record, from, at - 1)
  end
  if word % RETAINED >= UNIQUE then
    if at + 1 > size then return nil end
    local from = at + 2
    at = from + struct.unpack('>I2', record, at)
    if at > size + 1 then return nil end
    unique = string.sub(record, from, at - 1)
  end
  return string.sub(record, 3, 2 + length), retain, unique, at, key
end
