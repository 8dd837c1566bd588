-- Items that expire: they are dead at the time in EXPIRIES if they are not leased then.
local NOT_LEASED = 'not leased before it expired'

-- `score`: in EXPIRIES, or false.
local function has_passed(score) return score and math.abs(tonumber(score)) <= now end

-- Counts items that have expired and are dead now, and ends what their death ends.
local function items_expired(numbers)
  items_died(numbers)
  redis.call('HINCRBY', META, 'died', #numbers)
  redis.call('HINCRBY', META, 'expired_unleased', #numbers)
  redis.call('ZREM', EXPIRIES, unpack(numbers))
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
