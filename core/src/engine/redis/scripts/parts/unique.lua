-- Unique keys. UNIQUES has the owner of each key, `number:id`. A key is taken while its owner is ready, delayed,
-- leased or retained, and in any case until the time that TIMERS has for it. The entry of an item that has ended in
-- another way means nothing: it is deleted with the item if the step knows the key, and else by the next owner or by
-- a deep clean.

-- The number and the id in an entry; '' if there is none.
local function read_owner(entry) return string.match(entry or '', '^([^:]*):?(.*)$') end

-- The owners of these keys, each once: false if there is none, else a table of
--   number, id    of the owner
--   until_time    until when the key stays taken in any case, 0 if no longer than the owner needs it
--   known         the owner exists
--   dead          it is dead
--   expired       it has expired, and no sweep has found it yet
--   alive         none of this, nor has it been retained for long enough
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
    owner.until_time = tonumber(times[n]) or 0
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
