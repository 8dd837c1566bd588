-- Packed items: the stored id of the item that has them, behind its length (2 bytes), then for each behind its length (4 bytes):
--   what fires it (1, 2 or 4: see parts/fire.lua), its priority, 1 if it replaces others, 1 if it has a key (a byte each)
--   its delay (see parts/delay.lua), how long its unique key stays taken in any case, in how many ms it expires (6 bytes each)
--   max_attempts, the lengths of its stored id and its unique key (0: none), after how many bytes of its record the
--   trigger comes (0: not) (2 bytes each), the length of its own follow-ups (4 bytes; 0: none)
--   its stored id, its unique key, the name of its follow-ups, these, and its record
local FIELDS = '>BBBBI6I6I6I2I2I2I2I4'
local FIELDS_SIZE = 34

-- Those that fire with `kinds`. `result`: of the completion, false if there is none. They are not to be trusted: the caller
-- catches errors.
local function unpack_items(packed, kinds, result)
  local items, owner, at = {}, owner_of_packed(packed)
  while at <= #packed do
    local length = struct.unpack('>I4', packed, at)
    local on, priority, replaces, keyed, delay, unique_for, expires_in, max_attempts, id_length, unique_length, trigger_at,
      nested_length = struct.unpack(FIELDS, packed, at + 4)
    if math.floor(kinds / on) % 2 == 1 then
      local from = at + 4 + FIELDS_SIZE
      local function take(size)
        from = from + size
        return string.sub(packed, from - size, from - 1)
      end
      local id, unique = take(id_length), take(unique_length)
      local name = nested_length > 0 and take(NAME)
      local nested = take(nested_length)
      local record = take(at + 4 + length - from)
      if trigger_at > 0 then
        record = string.sub(record, 1, trigger_at) .. struct.pack('>I2', #owner) .. owner
          .. struct.pack('>I4', result and #result + 1 or 0) .. (result or '') .. string.sub(record, trigger_at + 1)
      end
      items[#items + 1] = { id = id, record = record, priority = priority, delay = delay, max_attempts = max_attempts,
        unique_for = unique_for, replaces = replaces, expires_in = expires_in, keyed = keyed == 1,
        unique = unique_length > 0 and unique, name = name, nested = nested }
    end
    at = at + 4 + length
  end
  return items
end
