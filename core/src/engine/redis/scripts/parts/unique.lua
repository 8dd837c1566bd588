-- Unique keys. UNIQUES has the number of the owner of each key. A key is taken while its owner is ready, delayed,
-- leased or retained, and in any case until the time that TIMERS has for it. The entry of an item that has ended in
-- another way means nothing: it is deleted with the item if the step knows the key, and else by the next owner or by
-- a deep clean.

-- The ids of items with unique keys, by index; '' if there is no such item. Of a large record, the details have the id.
local function ids_of_keyed(numbers, id_of)
  local ids, unknown, places = {}, {}, {}
  for i, packed in ipairs(redis.call('HMGET', DETAILS, unpack(numbers))) do
    -- The third character begins the size: 0 unless the record is large.
    local is_large = packed and string.byte(packed, 3) ~= 48
    ids[i] = id_of[numbers[i]] or is_large and unpack_details(packed).sections.I or ''
    if ids[i] == '' then unknown[#unknown + 1], places[#places + 1] = numbers[i], i end
  end
  for n, record in ipairs(#unknown > 0 and redis.call('HMGET', ITEMS, unpack(unknown)) or {}) do
    ids[places[n]] = read_head(record) or ''
  end
  return ids
end

-- The owners of these keys, each once: false if there is none, else a table of
--   number, id    of the owner; the id is '' if it does not exist
--   until_time    until when the key stays taken in any case, 0 if no longer than the owner needs it
--   known         the owner exists
--   dead          it is dead
--   expired       it has expired, and no sweep has found it yet
--   alive         none of this, nor has it been retained for long enough
-- `id_of`: ids that the caller knows, by number; may be nil.
local function find_owners(keys, id_of)
  local owners, there, their_keys, numbers = {}, {}, {}, {}
  for i, number in ipairs(redis.call('HMGET', UNIQUES, unpack(keys))) do
    owners[i] = number and { number = number }
    if number then
      local n = #there + 1
      there[n], their_keys[n], numbers[n] = owners[i], keys[i], number
    end
  end
  if #there == 0 then return owners end
  local ids = ids_of_keyed(numbers, id_of or {})
  local times, known = redis.call('ZMSCORE', TIMERS, unpack(their_keys)), redis.call('HMGET', IDS, unpack(ids))
  local dead = redis.call('ZMSCORE', DEAD, unpack(numbers))
  local completed = redis.call('ZMSCORE', COMPLETED, unpack(numbers))
  local cancelled = redis.call('ZMSCORE', CANCELLED, unpack(numbers))
  local expiries, leased = redis.call('ZMSCORE', EXPIRIES, unpack(numbers)), nil
  for n, owner in ipairs(there) do
    local expired = has_passed(expiries[n])
    if expired then
      leased = leased or redis.call('ZMSCORE', LEASED, unpack(numbers))
      expired = not leased[n]
    end
    local kept_until = tonumber(completed[n] or cancelled[n])
    owner.id, owner.until_time = ids[n], tonumber(times[n]) or 0
    owner.known, owner.dead, owner.expired = known[n] == owner.number, dead[n], expired
    owner.alive = owner.known and not dead[n] and not expired and not (kept_until and kept_until <= now)
  end
  return owners
end

-- Whether another item than this one has the key.
local function is_taken(owner, number)
  return owner and owner.number ~= number and (owner.alive or owner.until_time > now)
end

-- Items that have expired stay so when others take their keys, even if the clock is set back before a sweep finds them:
-- half a millisecond is taken from their times.
local function expire_for_good(numbers)
  if #numbers == 0 then return end
  local times = {}
  for n, score in ipairs(redis.call('ZMSCORE', EXPIRIES, unpack(numbers))) do
    local time = score and math.ceil(tonumber(score)) - 0.5
    times[2 * n - 1], times[2 * n] = string.format('%.1f', time or 0.5), numbers[n]
  end
  redis.call('ZADD', EXPIRIES, 'XX', unpack(times))
end
