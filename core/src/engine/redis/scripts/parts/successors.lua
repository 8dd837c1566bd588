-- Successors: items that take the places of leased ones when their leases end. SUCCESSORS has
--   number of a leased item   its successor: its number, its delay (see parts/delay.lua), how long its unique key stays
--                             taken in any case, in how many ms it expires, the lengths of its id, of that of the leased
--                             item and of its source, with spaces between; then a space, these ids, the source (see
--                             parts/confirmed.lua), and its unique key
--   `<` and the number of a successor, `@` and its id, if the leased item has another one, `!` and its unique key   the number
--                             of the leased item
-- A successor has a record and details, but is in no state, and no id or unique key leads to it: it is no item yet.

-- Reads an entry; nil if it cannot be read.
local function read_successor(leased, entry)
  local number, delay, unique_for, expires_in, length, own_length, source_length, rest =
    string.match(entry or '', '^(%w%S+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (.*)$')
  if not number then return nil end
  local id_end, own_end = tonumber(length), length + own_length
  local source_end = own_end + source_length
  local key = string.sub(rest, source_end + 1)
  return { leased = leased, number = number, delay = tonumber(delay), unique_for = tonumber(unique_for),
    expires_in = tonumber(expires_in), id = string.sub(rest, 1, id_end), leased_id = string.sub(rest, id_end + 1, own_end),
    source = string.sub(rest, own_end + 1, source_end), key = key ~= '' and key or nil }
end

-- The successors of these items, each once; nil if there are none.
local function find_successors(numbers)
  if #numbers == 0 or redis.call('EXISTS', SUCCESSORS) == 0 then return nil end
  local found, seen = nil, {}
  for i, entry in ipairs(redis.call('HMGET', SUCCESSORS, unpack(numbers))) do
    local successor = read_successor(numbers[i], entry)
    if successor and not seen[successor.leased] then
      seen[successor.leased] = true
      found = found or {}
      found[#found + 1] = successor
    end
  end
  return found
end

-- The fields about these, but for the first: those of the leased items.
local function fields_of(successors)
  local fields = {}
  for _, one in ipairs(successors) do
    fields[#fields + 1] = '<' .. one.number
    if one.id ~= one.leased_id then fields[#fields + 1] = '@' .. one.id end
    if one.key then fields[#fields + 1] = '!' .. one.key end
  end
  return fields
end

-- From now on these are no successors.
local function forget_successors(successors)
  local fields = fields_of(successors)
  for _, one in ipairs(successors) do fields[#fields + 1] = one.leased end
  redis.call('HDEL', SUCCESSORS, unpack(fields))
end
