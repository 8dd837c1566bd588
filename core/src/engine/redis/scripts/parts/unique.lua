-- Unique keys. UNIQUES has the owner of each key, `number:id`. A key is taken while its owner is ready, delayed,
-- leased or retained, and in any case until the time that TIMERS has for it.

-- The number and the id in an entry; '' if there is none.
local function read_owner(entry) return string.match(entry or '', '^([^:]*):?(.*)$') end

local function is_owner(number, entry)
  return entry and string.sub(entry, 1, #number) == number and string.byte(entry, #number + 1) == 58
end

-- Releases the unique keys of items that end. Those that somebody else owns by now, or that stay taken for
-- longer, are not released.
local function release_uniques(numbers)
  local keys, owners, released = {}, {}, {}
  for i, key in ipairs(redis.call('HMGET', OWNED, unpack(numbers))) do
    if key then keys[#keys + 1], owners[#owners + 1] = key, numbers[i] end
  end
  if #keys == 0 then return end
  local entries = redis.call('HMGET', UNIQUES, unpack(keys))
  local reserved = redis.call('EXISTS', TIMERS) == 1 and redis.call('ZMSCORE', TIMERS, unpack(keys)) or {}
  for i, key in ipairs(keys) do
    local is_reserved = reserved[i] and tonumber(reserved[i]) > now
    if is_owner(owners[i], entries[i]) and not is_reserved then released[#released + 1] = key end
  end
  if #released > 0 then redis.call('HDEL', UNIQUES, unpack(released)) end
end

-- The owners of these keys, each once: false if there is none, else a table of
--   number, id    of the owner
--   until_time    until when the key stays taken in any case, 0 if no longer than the owner needs it
--   exists        the owner exists, and has not died
--   expired       it has, and no sweep has found it yet
--   alive         nor has it expired, or been retained for long enough
local function find_owners(keys)
  local owners, there, their_keys, numbers, ids = {}, {}, {}, {}, {}
  for i, entry in ipairs(redis.call('HMGET', UNIQUES, unpack(keys))) do
    owners[i] = false
    if entry then
      local n, number, id = #there + 1, read_owner(entry)
      owners[i] = { number = number, id = id }
      there[n], their_keys[n], numbers[n], ids[n] = owners[i], keys[i], number, id
    end
  end
  if #there == 0 then return owners end
  local times, known = redis.call('ZMSCORE', TIMERS, unpack(their_keys)), redis.call('HMGET', IDS, unpack(ids))
  local owned, dead = redis.call('HMGET', OWNED, unpack(numbers)), redis.call('ZMSCORE', DEAD, unpack(numbers))
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
    owner.until_time = tonumber(times[n]) or 0
    owner.exists = owned[n] == their_keys[n] and known[n] == owner.number and not dead[n]
    owner.expired = expired
    owner.alive = owner.exists and not expired and not (kept_until and kept_until <= now)
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

-- What the death of items ends.
local items_died = release_uniques
