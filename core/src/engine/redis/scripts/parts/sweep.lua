-- Deletes retained items, the first of `numbers` whose records and results each have up to `room` bytes, but at least
-- one. Returns how many.
local function delete_retained(numbers, room)
  local details = redis.call('HMGET', DETAILS, unpack(numbers))
  local fits, ids, known = fitting_results(numbers, (fitting(details, room, 1)), room), {}, {}
  for i = #numbers, fits + 1, -1 do numbers[i], details[i] = nil, nil end
  -- Records are read because they have the ids.
  for i, record in ipairs(redis.call('HMGET', ITEMS, unpack(numbers))) do
    ids[i], known[i] = id_of(record), true
  end
  delete_all_of(numbers, ids, known, details)
  return fits
end

-- Ends the reserved times of unique keys. A key stays taken if the item that owns it has not ended.
local MAX_KEYS = 100
local function end_reservations(keys)
  local free = {}
  for i, owner in ipairs(find_owners(keys)) do
    -- A script that died half-way may have left the key of a deleted item.
    local has_ended = owner and not (owner.exists and redis.call('HEXISTS', ITEMS, owner.number) == 1)
    if has_ended then free[#free + 1] = keys[i] end
  end
  if #free > 0 then redis.call('HDEL', UNIQUES, unpack(free)) end
  redis.call('ZREM', TIMERS, unpack(keys))
end

-- Deletes retained items whose time is over, ends the reserved times of unique keys, and makes items dead that have
-- expired: at most `limit` of each. `room`: at most how many bytes are deleted, and how many copied. Returns whether there
-- may be more.
local function sweep(limit, room)
  local more = false
  for _, set in ipairs({ COMPLETED, CANCELLED }) do
    local numbers = redis.call('ZRANGE', set, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)
    local found = #numbers
    if found > 0 then more = delete_retained(numbers, room) < found or found == limit or more end
  end
  local keys = redis.call('ZRANGE', TIMERS, '-inf', now, 'BYSCORE', 'LIMIT', 0, MAX_KEYS)
  if #keys > 0 then end_reservations(keys) end
  return sweep_expiries(limit, room) or more or #keys == MAX_KEYS
end
