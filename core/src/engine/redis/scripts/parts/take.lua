-- Pops ready numbers and leases those whose item exists; the others are tombstones.
-- Groups in ARGV: how many items, duration in ms. What was taken, in order:
local numbers, records, extras, held = {}, {}, {}, {}
local soonest -- the earliest deadline given
local group, left, deadline -- the place of the group in ARGV, and what is left of it

local function keep(number, record, extra)
  local n = #numbers + 1
  numbers[n], records[n], extras[n], held[n] = number, record, extra or '', number
  -- The answer kept for a retry names the delivery, if it is not the first.
  if extra then held[n] = number .. ':' .. delivery_of(extra) end
end

-- Pairs of deadline and number for those that exist, each by the group it falls to.
local function deadlines_for(popped, found)
  local leases, n = {}, 0
  for i = 1, #popped do
    if found[i] then
      while left == 0 do
        group = group + 2
        left = tonumber(ARGV[group])
        local at = now + ARGV[group + 1]
        deadline = text(at)
        if left > 0 and (not soonest or at < soonest) then soonest = at end
      end
      left = left - 1
      leases[n + 1], leases[n + 2] = deadline, popped[i]
      n = n + 2
    end
  end
  return leases, n / 2
end

-- `doubled` of these numbers were leased already: they stand in a list twice, which is damage from
-- outside. A second lease of an item must not be given: it gets an empty record, and 0 as its number.
local doubles = 0
local function drop_doubles(popped, found, leases, doubled)
  local taken, named, n, told = {}, {}, 0, 0
  for _, number in ipairs(numbers) do taken[number] = true end
  for i = 2, #leases, 2 do named[#named + 1] = leases[i] end
  local scores = redis.call('ZMSCORE', LEASED, unpack(named))
  for i, number in ipairs(popped) do
    if found[i] then
      n = n + 1
      if taken[number] or scores[n] ~= leases[2 * n - 1] then
        found[i], told = '', told + 1
      end
      taken[number] = true
    end
  end
  -- Others were leased to the same millisecond by another call, and cannot be told apart from those
  -- leased now: none of them is given out, they all expire.
  for i = 1, #popped do
    if found[i] and told < doubled then found[i] = '' end
    if found[i] == '' then popped[i], doubles = '0', doubles + 1 end
  end
end

-- Leases those that are not leased already; returns how many. The server keeps a sorted set of up to
-- 128 numbers as a list, and looks through all of it for each of them. A longer name than fits into such
-- a list turns it into a tree, which it then stays until it is empty. For a few it is not worth it.
local LONG_NAME, WORTH_A_TREE = string.rep('0', 65), 32
local function put(leases, count)
  if count == 0 then return 0 end
  if count < WORTH_A_TREE then return redis.call('ZADD', LEASED, 'NX', unpack(leases)) end
  redis.call('ZADD', LEASED, deadline, LONG_NAME)
  local added = redis.call('ZADD', LEASED, 'NX', unpack(leases))
  redis.call('ZREM', LEASED, LONG_NAME)
  return added
end

-- Takes up to `target` items for the groups behind ARGV[at]. `touched`: how many the script has looked
-- at before. Returns true if it stopped before it had seen all.
local function take(at, target, touched)
  group, left = at - 1, 0
  local room, look_ahead = ROOM, 1
  -- An item of another priority has an extra, and so has one with a large record: if there is none at all,
  -- one list has all, and is cheaper to pop from than ten. What else is in the others is skipped when that
  -- one is empty.
  local plain = redis.call('EXISTS', EXTRA) == 0
  while #numbers < target do
    if touched >= 1000 or room <= 0 then return true end
    local need = target - #numbers
    local chunk = math.min(math.max(need, look_ahead), 1000 - touched)
    local popped, key, priority = plain and redis.call('RPOP', KEYS[READY], chunk), KEYS[READY], '0'
    if not popped then
      local reply = redis.call('LMPOP', '10', KEYS[20], KEYS[19], KEYS[18], KEYS[17], KEYS[16], KEYS[15],
        KEYS[14], KEYS[13], KEYS[12], KEYS[11], 'RIGHT', 'COUNT', chunk)
      if not reply then return false end
      key, popped = reply[1], reply[2]
      priority = string.match(key, ':ready:(%d)$') or '0'
    end
    touched = touched + #popped
    local known = not plain and redis.call('HMGET', EXTRA, unpack(popped))
    if known then
      local fits
      fits, room = fitting(known, room, #numbers == 0 and 1 or 0)
      if fits < #popped then
        put_back(key, popped, fits)
        if fits == 0 then return true end
      end
    end
    local found = redis.call('HMGET', ITEMS, unpack(popped))
    if #popped > need then
      keep_only(need, key, popped, found)
    end
    local leases, count = deadlines_for(popped, found)
    local added = put(leases, count)
    if added < count then drop_doubles(popped, found, leases, count - added) end
    if added == #popped and not known and #numbers == 0 then
      numbers, records, held = popped, found, popped
    else
      for i = 1, #popped do
        if found[i] then keep(popped[i], found[i], known and known[i]) end
      end
    end
    if count < #popped then
      redis.call('HINCRBY', META, 'gone:' .. priority, count - #popped)
      -- Many may follow: twice as many each time, so that they do not cost a step each.
      look_ahead = math.min(2 * #popped, 500)
    end
    if #numbers == 0 then room = ROOM end
  end
  return true
end
