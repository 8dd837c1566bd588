-- Items that expire: they are dead at the time in EXPIRIES if they are not leased then.
local NOT_LEASED = 'not leased before it expired'

-- Counts items that have expired and are dead now, and ends what their death ends.
local function items_expired(numbers)
  items_died(numbers)
  redis.call('HINCRBY', META, 'died', #numbers)
  redis.call('HINCRBY', META, 'expired_unleased', #numbers)
  redis.call('ZREM', EXPIRIES, unpack(numbers))
  report_deaths(numbers)
end

-- Makes those of the popped items dead that have expired, and drops them from the lists. They have left their ready
-- list, so they keep their numbers. Returns how many.
local function drop_expired(popped, found, known)
  local scores, expired, changed, dead, kept = redis.call('ZMSCORE', EXPIRIES, unpack(popped)), {}, {}, {}, 0
  local count = #popped
  for i = 1, count do
    local number, record, packed = popped[i], found[i], known and known[i]
    if record and has_passed(scores[i]) then
      local n, x = #expired + 1, unpack_details(packed)
      x.error = NOT_LEASED
      expired[n] = number
      changed[2 * n - 1], changed[2 * n] = number, pack_details(x)
      dead[2 * n - 1], dead[2 * n] = text(now), number
    else
      kept = kept + 1
      popped[kept], found[kept] = number, record
      if known then known[kept] = packed end
    end
  end
  if #expired == 0 then return 0 end
  for i = count, kept + 1, -1 do
    popped[i], found[i] = nil, nil
    if known then known[i] = nil end
  end
  redis.call('HSET', DETAILS, unpack(changed))
  redis.call('ZADD', DEAD, unpack(dead))
  items_expired(expired)
  return #expired
end

-- `drop_expired`, if items of this queue expire at all.
local function drops_expired() return redis.call('EXISTS', EXPIRIES) == 1 and drop_expired end

-- Which of these leased items have expired: number to the text of the error, or nil if no item of this queue expires.
local function find_expired(numbers)
  if redis.call('EXISTS', EXPIRIES) == 0 then return nil end
  local expired = {}
  for i, score in ipairs(redis.call('ZMSCORE', EXPIRIES, unpack(numbers))) do
    expired[numbers[i]] = has_passed(score) and NOT_LEASED or nil
  end
  return expired
end

-- What a counted attempt of items ends, some of which are `dead`.
local function attempts_counted(numbers, dead)
  redis.call('ZREM', EXPIRIES, unpack(numbers))
  if #dead > 0 then
    items_died(dead)
    report_deaths(dead)
  end
end
