-- Reads the lines of open keys: of each as many entries as it has free places and the caller needs, and one more, which
-- shows how the line goes on. Returns them: key, priority, rank, number and entry of each; and how many keys were read.
local function read_lines(keys, places, limits, priority, need)
  local waiting = {}
  for n, key in ipairs(keys) do
    if #waiting >= need then return waiting, n - 1 end
    local place, line = places[key], line_of(key)
    local free = limits[key] - #place.numbers
    if place.flag and free > 0 then
      local asked = math.min(free, need - #waiting)
      place.was_read = true
      for i, entry in ipairs(redis.call('ZRANGE', LINES, '[' .. line, '(' .. line .. ':', 'BYLEX', 'LIMIT', 0, asked + 1)) do
        local own, rank, number = read_entry(entry, #line)
        if i > asked or own < priority then
          place.next = own
          break
        end
        waiting[#waiting + 1] = { key = key, priority = own, rank = rank, number = number, entry = entry }
      end
    end
  end
  return waiting, #keys
end

-- Closes those of the keys that are full or have no line, and moves those whose lines go on with another priority.
local function close_keys(keys, places, limits, scores)
  local closed, moved = {}, {}
  for _, key in ipairs(keys) do
    local place = places[key]
    if not place.flag or #place.numbers >= limits[key] then
      closed[#closed + 1] = key
    elseif math.floor(scores[key] / LEVEL) ~= 9 - place.flag then
      moved[#moved + 1] = text((9 - place.flag) * LEVEL + scores[key] % LEVEL)
      moved[#moved + 1] = key
    end
  end
  if #closed > 0 then redis.call('ZREM', OPEN, unpack(closed)) end
  if #moved > 0 then redis.call('ZADD', OPEN, unpack(moved)) end
end

-- Leases up to `need` held items of this priority, directly from the lines of those keys that are the first in OPEN.
-- `most`: at most how many entries; `room`: at most how many bytes, but at least one item if it is the first. Returns how
-- many entries it has looked at, the room that is left, and how many items it has read that are dead now.
local MAX_ROUND = 100
local function take_open(priority, need, most, room, is_first, drop_expired)
  local keys, scores = {}, {}
  local front = redis.call('ZRANGE', OPEN, 0, math.min(need, MAX_ROUND) - 1, 'WITHSCORES')
  for i = 1, #front, 2 do
    local score = tonumber(front[i + 1])
    if priority_of(score) ~= priority then break end
    keys[#keys + 1], scores[front[i]] = front[i], score
  end
  key_step.rounds, key_step.keys = key_step.rounds + 1, key_step.keys + #keys
  local places, limits = read_places(keys), read_limits(keys)
  drop_stale(keys, places, limits)
  local waiting, keys_read = read_lines(keys, places, limits, priority, math.min(need, most))
  for n = #keys, keys_read + 1, -1 do keys[n] = nil end

  -- The entries that count, and those that are to be dropped.
  local popped, known, found, dropped, item_of, died, looked = {}, {}, {}, {}, {}, 0, #waiting
  local numbers = {}
  for n, one in ipairs(waiting) do numbers[n] = one.number end
  for n, rank in ipairs(looked > 0 and redis.call('ZMSCORE', HELD, unpack(numbers)) or {}) do
    local one = waiting[n]
    if tonumber(rank or nil) == one.rank and not item_of[one.number] then
      popped[#popped + 1], item_of[one.number] = one.number, one
    else
      dropped[#dropped + 1] = one.entry
    end
  end
  if #popped > 0 then
    local fits
    known = redis.call('HMGET', DETAILS, unpack(popped))
    fits, room = fitting(known, room, is_first and 1 or 0)
    for n = #popped, fits + 1, -1 do
      local one = item_of[popped[n]]
      local place = places[one.key]
      place.next = math.max(place.next or 0, one.priority)
      popped[n], known[n] = nil, nil
    end
  end
  if #popped > 0 then
    for _, number in ipairs(popped) do dropped[#dropped + 1] = item_of[number].entry end
    redis.call('ZREM', HELD, unpack(popped))
    found = redis.call('HMGET', ITEMS, unpack(popped))
    if drop_expired then died = drop_expired(popped, found, known) end
  end
  for i, number in ipairs(popped) do
    local place = places[item_of[number].key]
    if found[i] then place.numbers[#place.numbers + 1] = number end
  end
  for _, key in ipairs(keys) do
    local place = places[key]
    if place.was_read then place.flag, place.changed = place.next, true end
  end
  write_places(keys, places)
  local leases, count = deadlines_for(popped, found)
  local added = add_leases(leases, count)
  if added < count then drop_doubles(popped, found, leases, count - added) end
  for i = 1, #popped do
    if found[i] then append(popped[i], found[i], known[i]) end
  end
  if #dropped > 0 then redis.call('ZREM', LINES, unpack(dropped)) end
  close_keys(keys, places, limits, scores)
  return looked, room, died
end
