-- Deletes items that have ended, the first of `numbers` whose records and results each have up to `room` bytes, but at
-- least one. Counts those as removed that come behind the first `over`. `with_results`: whether they can have results,
-- which costs a call for each item. Returns whether some are left, and
-- how many it has counted as removed.
local function delete_ended(numbers, room, over, with_results)
  local found = #numbers
  if found == 0 then return false, 0 end
  local details = redis.call('HMGET', DETAILS, unpack(numbers))
  local fits, ids, known, keys = fitting(details, room, 1), {}, {}, {}
  if with_results then fits = fitting_results(numbers, fits, room) end
  for i = found, fits + 1, -1 do numbers[i], details[i] = nil, nil end
  -- Records are read because they have the ids and the unique keys.
  local removed, removed_ids = {}, {}
  for i, record in ipairs(redis.call('HMGET', ITEMS, unpack(numbers))) do
    local id, _, key = read_head(record)
    ids[i], known[i], keys[i] = id, true, key
    if record and i > over then removed[#removed + 1], removed_ids[#removed + 1] = numbers[i], id or false end
  end
  fire_removals(numbers)
  if has_events() then note_events('r', removed, removed_ids) end
  delete_all_of(numbers, ids, known, details, keys)
  if #removed > 0 then redis.call('HINCRBY', META, 'removed', #removed) end
  return fits < found, #removed
end

-- The next `limit` retained items of both kinds, those first whose time ends first.
local function next_retained(limit)
  local entries, numbers = {}, {}
  for _, set in ipairs({ COMPLETED, CANCELLED }) do
    local found = redis.call('ZRANGE', set, '(' .. text(now), '+inf', 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES')
    for i = 1, #found, 2 do entries[#entries + 1] = { number = found[i], at = tonumber(found[i + 1]) } end
  end
  table.sort(entries, function(one, other)
    return one.at < other.at or one.at == other.at and one.number < other.number
  end)
  for i = 1, math.min(limit, #entries) do numbers[i] = entries[i].number end
  return numbers
end

-- Deletes up to `limit` retained items: those whose time is over, and then the next ones, if the settings allow no more.
-- Returns whether there may be more, and how many of the next ones it has deleted.
local function sweep_retained(limit, room)
  local numbers = {}
  for _, set in ipairs({ COMPLETED, CANCELLED }) do
    local left = limit - #numbers
    local found = left > 0 and redis.call('ZRANGE', set, '-inf', now, 'BYSCORE', 'LIMIT', 0, left) or {}
    for _, number in ipairs(found) do numbers[#numbers + 1] = number end
  end
  local over, allowed = #numbers, read_settings().max_retained
  local excess = allowed and redis.call('ZCARD', COMPLETED) + redis.call('ZCARD', CANCELLED) - allowed or 0
  if excess > over and over < limit then
    for _, number in ipairs(next_retained(math.min(excess, limit) - over)) do numbers[#numbers + 1] = number end
  end
  local found = #numbers
  local left, removed = delete_ended(numbers, room, over, true)
  return left or found == limit, removed
end

-- Deletes up to `limit` dead items, the oldest, if the settings allow no more or none so old. Returns whether there may
-- be more, and how many it has deleted.
local function sweep_dead(limit, room)
  local settings, numbers = read_settings(), {}
  local excess = settings.max_dead and redis.call('ZCARD', DEAD) - settings.max_dead or 0
  if settings.max_dead_age then
    local before = text(now - settings.max_dead_age)
    numbers = redis.call('ZRANGE', DEAD, '-inf', before, 'BYSCORE', 'LIMIT', 0, limit)
  end
  if excess > #numbers and #numbers < limit then
    numbers = redis.call('ZRANGE', DEAD, 0, math.min(excess, limit) - 1)
  end
  local found = #numbers
  local left, removed = delete_ended(numbers, room, 0, false)
  return left or found == limit, removed
end

-- Ends the reserved times of unique keys. A key stays taken if the item that owns it has not ended.
local MAX_KEYS = 100
local function end_reservations(keys)
  local free = {}
  for i, owner in ipairs(find_owners(keys)) do
    -- A script that died half-way may have left the key of a deleted item.
    local has_ended = owner and not (owner.known and not owner.dead and redis.call('HEXISTS', ITEMS, owner.number) == 1)
    if has_ended then free[#free + 1] = keys[i] end
  end
  if #free > 0 then redis.call('HDEL', UNIQUES, unpack(free)) end
  redis.call('ZREM', TIMERS, unpack(keys))
end

-- Deletes retained items whose time is over, ends the reserved times of unique keys, makes items dead that have
-- expired, and deletes what the settings allow no longer: at most `limit` of each. `room`: at most how many bytes are
-- deleted, and how many copied. Returns whether there may be more, and how many were removed because of the settings.
local function sweep(limit, room)
  local more, retained = sweep_retained(limit, room)
  local keys = redis.call('ZRANGE', TIMERS, '-inf', now, 'BYSCORE', 'LIMIT', 0, MAX_KEYS)
  if #keys > 0 then end_reservations(keys) end
  more = sweep_expiries(limit, room) or more or #keys == MAX_KEYS
  local more_dead, dead = sweep_dead(limit, room)
  return more_dead or more, retained + dead
end
