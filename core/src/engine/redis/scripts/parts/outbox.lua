-- Entries for other queues, as the model of delivery has them:
--   OUTBOX    sorted set of entries, all with the score 0, each `queue number size`: so those of a queue stand together, in
--             the order of their numbers
--   OUTGOING  entry to the packed item (see parts/unpack_items.lua); `>` and an entry to the one that it becomes (see
--             renumber.lua)
local COUNT_DIGITS = 11

local function entry_of_outbox(queue, count, salt, size)
  local digits = in_base_36(count)
  return queue .. ' ' .. string.rep('0', COUNT_DIGITS - #digits) .. digits .. salt .. ' ' .. text(size)
end

-- Queue, number and size; nil for what is no entry.
local function read_entry(entry)
  local queue, number, size = string.match(entry, '^([^ ]+) ([^ ]+) (%d+)$')
  if queue and #number == COUNT_DIGITS + SALT and count_of(number) then return queue, number, tonumber(size) end
end
