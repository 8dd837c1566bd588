-- Packed items: the stored id of the item that has them, behind its length (2 bytes), then for each behind its length (4 bytes):
--   what fires it (1, 2 or 4: see parts/fire.lua), its priority, 1 if it replaces others and 2 if it may also be a successor,
--   1 if it has a key, the length of
--   the name of another queue for which it is (0: for that of the item) (a byte each)
--   its delay (see parts/delay.lua), how long its unique key stays taken in any case, in how many ms it expires (6 bytes each)
--   max_attempts, the lengths of its stored id and its unique key (0: none), after how many bytes of its record the
--   trigger comes (0: not) (2 bytes each), the length of its own follow-ups (4 bytes; 0: none)
--   its stored id, its unique key, the name of its follow-ups, these, the name of the queue, and its record
local FIELDS = '>BBBBBI6I6I6I2I2I2I2I4'
-- Most have no options: the 24 bytes from the priority on. Then only the lengths behind these are read.
local NO_OPTIONS, LENGTHS = string.rep('\0', 24), '>I2I2I2I4'

-- Those that fire with `kinds`. `at`: where the first one begins; `owner`, `result`: of the trigger, false if there is no result.
-- They are not to be trusted: the caller catches errors. Of each: id, record, and `options` if it has any; of one for another
-- `queue` instead `packed` alone, with its trigger, which is for the queue that has it then.
local function unpack_items(packed, at, kinds, owner, result)
  local items, sub, unpack_fields = {}, string.sub, struct.unpack
  local size = #packed
  while at <= size do
    local length, on = unpack_fields('>I4B', packed, at)
    if kinds % (2 * on) >= on then
      local priority, replaces, keyed, queue_length, delay, unique_for, expires_in, max_attempts = 0, 0, 0, 0, 0, 0, 0, 0
      local _, id_length, unique_length, trigger_at, nested_length
      if sub(packed, at + 5, at + 28) == NO_OPTIONS then
        id_length, unique_length, trigger_at, nested_length = unpack_fields(LENGTHS, packed, at + 29)
      else
        _, priority, replaces, keyed, queue_length, delay, unique_for, expires_in, max_attempts, id_length, unique_length,
          trigger_at, nested_length = unpack_fields(FIELDS, packed, at + 4)
      end
      local from = at + 4 + FIELDS_SIZE
      local item, behind = { id = sub(packed, from, from + id_length - 1), record = '' }, from + id_length
      if priority + replaces + keyed + delay + unique_for + expires_in + max_attempts + unique_length + nested_length > 0 then
        item.options = { priority = priority, delay = delay, max_attempts = max_attempts, unique_for = unique_for,
          replaces = replaces, expires_in = expires_in, keyed = keyed == 1 }
        if unique_length > 0 then
          item.unique, behind = sub(packed, behind, behind + unique_length - 1), behind + unique_length
          item.replaces = replaces > 0
        end
        if nested_length > 0 then
          item.options.name = sub(packed, behind, behind + NAME - 1)
          item.options.nested = sub(packed, behind + NAME, behind + NAME + nested_length - 1)
          behind = behind + NAME + nested_length
        end
      end
      local last, record = at + 3 + length, behind + queue_length
      if trigger_at > 0 then
        item.record = sub(packed, record, record + trigger_at - 1) .. struct.pack('>I2', #owner) .. owner
          .. struct.pack('>I4', result and #result + 1 or 0) .. (result or '') .. sub(packed, record + trigger_at, last)
      else
        item.record = sub(packed, record, last)
      end
      if queue_length > 0 then
        local fields = at + 4
        local rest = sub(packed, fields, fields + 3) .. '\0' .. sub(packed, fields + 5, fields + 28) .. '\0\0'
          .. sub(packed, fields + 31, behind - 1) .. item.record
        item = { queue = sub(packed, behind, record - 1), packed = struct.pack('>I4', #rest) .. rest }
      end
      items[#items + 1] = item
    end
    at = at + 4 + length
  end
  return items
end
