-- Items that expire: they are dead at the time in EXPIRIES if they are not leased then.
local NOT_LEASED = 'not leased before it expired'

-- Reports items that are dead, by their numbers: reads their ids from their records. Clients find those that are large
-- when they check.
local function report_deaths(numbers)
  if #numbers == 0 or not is_awaited() then return end
  local small, ids = {}, {}
  for i, packed in ipairs(redis.call('HMGET', DETAILS, unpack(numbers))) do
    -- The third character begins the size: 0 unless the record is large.
    if not packed or string.byte(packed, 3) == 48 then small[#small + 1] = numbers[i] end
  end
  if #small == 0 then return end
  for i, record in ipairs(redis.call('HMGET', ITEMS, unpack(small))) do ids[i] = read_head(record) or false end
  report_endings('d', ids)
end

-- Counts items that have expired and are dead now.
local function items_expired(numbers)
  redis.call('HINCRBY', META, 'died', #numbers)
  redis.call('HINCRBY', META, 'expired_unleased', #numbers)
  redis.call('ZREM', EXPIRIES, unpack(numbers))
  report_deaths(numbers)
end

-- Makes those of the popped items dead that have expired, and drops them from the lists. They have left their ready
-- list, so they keep their numbers. Returns how many.
local function drop_expired(popped, found, known)
  local scores, expired, ids, changed, dead, kept =
    redis.call('ZMSCORE', EXPIRIES, unpack(popped)), {}, {}, {}, {}, 0
  local count = #popped
  for i = 1, count do
    local number, record, packed = popped[i], found[i], known and known[i]
    if record and has_passed(scores[i]) then
      local n, x = #expired + 1, unpack_details(packed)
      x.error = NOT_LEASED
      expired[n], ids[n] = number, has_events() and read_head(record) or false
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
  fire_deaths(expired)
  if has_events() then note_events('d', expired, ids) end
  redis.call('ZADD', DEAD, unpack(dead))
  items_expired(expired)
  return #expired
end

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
  report_deaths(dead)
end
