-- Pops ready numbers and leases those whose item exists; the others are tombstones. Groups in ARGV: how
-- many items, duration in ms.
-- The items that were taken, in order; `saved`: how the answer for a retry names them
local numbers, records, details, saved = {}, {}, {}, {}
local soonest -- the earliest deadline given
local group, left, deadline -- the index of the group in ARGV, and how many items it still wants

local function append(number, record, packed)
  local n = #numbers + 1
  numbers[n], records[n], details[n], saved[n] = number, record, packed or '', number
  -- The delivery is named if it is not the first.
  if packed then saved[n] = number .. ':' .. delivery_of(packed) end
end

-- Assigns the items that exist to the groups. Returns pairs of deadline and number, and how many there are.
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

-- Handles damage: `doubled` of these numbers were leased already, because a list has them twice. No item may
-- be leased twice: the second one gets an empty record, and 0 as its number.
local double_count = 0
local function drop_doubles(popped, found, leases, doubled)
  local taken, named, n, dropped = {}, {}, 0, 0
  for _, number in ipairs(numbers) do taken[number] = true end
  for i = 2, #leases, 2 do named[#named + 1] = leases[i] end
  local scores = redis.call('ZMSCORE', LEASED, unpack(named))
  for i, number in ipairs(popped) do
    if found[i] then
      n = n + 1
      if taken[number] or scores[n] ~= leases[2 * n - 1] then
        found[i], dropped = '', dropped + 1
      end
      taken[number] = true
    end
  end
  -- The others were leased by another call until the same millisecond, and cannot be distinguished from
  -- those leased now: none of them is returned, all expire.
  for i = 1, #popped do
    if found[i] and dropped < doubled then found[i] = '' end
    if found[i] == '' then popped[i], double_count = '0', double_count + 1 end
  end
end

-- Leases those that are not leased already; returns how many. The server keeps a sorted set of up to 128
-- members as a list, and searches all of it for each member. A member that is too long for such a list turns
-- it into a skip list, which it stays until it is empty. For a few members the list is faster.
local LONG_MEMBER, MIN_FOR_SKIP_LIST = string.rep('0', 65), 32
local function add_leases(leases, count)
  if count == 0 then return 0 end
  if count < MIN_FOR_SKIP_LIST then return redis.call('ZADD', LEASED, 'NX', unpack(leases)) end
  redis.call('ZADD', LEASED, deadline, LONG_MEMBER)
  local added = redis.call('ZADD', LEASED, 'NX', unpack(leases))
  redis.call('ZREM', LEASED, LONG_MEMBER)
  return added
end

-- Takes up to `target` items for the groups after ARGV[at]. `touched`: how many items the script has handled
-- before. Items that have expired are dead instead. Returns true if there may be more.
local function take(at, target, touched)
  group, left = at - 1, 0
  local room, look_ahead, died = MAX_REPLY, 1, 0
  -- Items with a priority or a large record have details. If no item has any, only the first list has
  -- items, and popping from one list costs less than from ten. Tombstones in the others are popped when it
  -- is empty.
  local plain, drop_expired = redis.call('EXISTS', DETAILS) == 0, drops_expired and drops_expired()
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
    local known = not plain and redis.call('HMGET', DETAILS, unpack(popped))
    if known then
      local fits
      -- The records of those that have expired were read too.
      fits, room = fitting(known, room, #numbers + died == 0 and 1 or 0)
      if fits < #popped then
        put_back(key, popped, fits)
        if fits == 0 then return true end
      end
    end
    local found, seen = redis.call('HMGET', ITEMS, unpack(popped)), #popped
    if drop_expired then died = died + drop_expired(popped, found, known) end
    if #popped > need then
      keep_only(need, key, popped, found)
    end
    local leases, count = deadlines_for(popped, found)
    local added = add_leases(leases, count)
    if added < count then drop_doubles(popped, found, leases, count - added) end
    if added == seen and not known and #numbers == 0 then
      numbers, records, saved = popped, found, popped
    else
      for i = 1, #popped do
        if found[i] then append(popped[i], found[i], known and known[i]) end
      end
    end
    if count < #popped then redis.call('HINCRBY', META, 'gone:' .. priority, count - #popped) end
    -- More tombstones, or expired items, may follow: pop twice as many next time.
    if count < seen then look_ahead = math.min(2 * seen, 500) end
    if #numbers + died == 0 then room = MAX_REPLY end
  end
  return true
end
