-- A record is the head of an item, then its data. The head has: two bytes, which are the length of the id and the flags
-- below; the id as stored; if RETAINED, for how long the item is retained after its completion (ms, 6 bytes); if FOLLOWED,
-- the name of its follow-ups (NAME bytes); if TRIGGERED, id and result of the item that has added it by its end, each
-- behind its length (2 bytes; 4 bytes, and 1 more than the length, 0: there is none); if KEYED, the key that limits how
-- many items run, behind its length (1 byte); if UNIQUE, its unique key, behind its length (2 bytes). So a client that
-- leases the item knows all that matters at its end. The head of a number never changes.
local RETAINED, UNIQUE, KEYED, FOLLOWED, TRIGGERED, LENGTHS = 32768, 16384, 8192, 4096, 2048, 2048

-- Reads the head of a record. Returns the id, nil if it cannot be read; for how long the item is retained and its unique
-- key, each nil if there is none; where the data begin; its key and the name of its follow-ups, nil if there is none.
local function read_head(record)
  local size = record and #record or 0
  local word = size >= 2 and struct.unpack('>I2', record) or 0
  local length, retain, unique, key, name = word % LENGTHS, nil, nil, nil, nil
  local at = 3 + length
  if length == 0 or at > size + 1 then return nil end
  if word >= RETAINED then
    if at + 5 > size then return nil end
    retain, at = struct.unpack('>I6', record, at)
  end
  if word % KEYED >= FOLLOWED then
    name, at = string.sub(record, at, at + NAME - 1), at + NAME
    if at > size + 1 then return nil end
  end
  if word % FOLLOWED >= TRIGGERED then
    if at + 1 > size then return nil end
    at = at + 2 + struct.unpack('>I2', record, at)
    if at + 3 > size then return nil end
    at = at + 4 + math.max(0, struct.unpack('>I4', record, at) - 1)
    if at > size + 1 then return nil end
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
  return string.sub(record, 3, 2 + length), retain, unique, at, key, name
end
