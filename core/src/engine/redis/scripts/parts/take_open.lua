-- The first keys in OPEN, up to `width`. Returns them, their ranks there, and the rank up to which they are all that are
-- open, which is at most `bound`.
local function read_open(width, bound)
  local keys, ranks = {}, {}
  local front = redis.call('ZRANGE', OPEN, 0, width, 'WITHSCORES')
  for i = 1, #front, 2 do
    local rank = tonumber(front[i + 1])
    if #keys == width or rank >= bound and #keys > 0 then return keys, ranks, math.min(rank, bound) end
    keys[#keys + 1], ranks[front[i]] = front[i], rank
  end
  return keys, ranks, bound
end

-- Reads the lines of these keys. Returns key, rank, number and entry of the items that may be leased now, in their order,
-- the same by number, the entries that do not count, and the key whose line must be read further to learn more: `most`
-- entries are read. A key whose line is read has `next`: the rank of its first entry that is not among these items, nil if
-- there is none.
local function read_lines(keys, ranks, places, limits, meters, bound, most)
  local share, entries, numbers, count, cut = math.max(1, math.floor(most / #keys)), {}, {}, 0, nil
  for _, key in ipairs(keys) do
    local place, line = places[key], line_of(key)
    place.free = place.flag and not place.unknown and math.max(0, limits[key] - place.count) or 0
    if meters then place.free = math.min(place.free, allowed_by(meters, key)) end
    if place.free > 0 and count >= most then
      bound = math.min(bound, ranks[key])
    elseif place.free > 0 then
      local asked = math.min(most - count, math.min(place.free, share) + (key_step.ahead[key] or 0))
      place.was_read, place.asked = true, asked
      for i, entry in ipairs(redis.call('ZRANGE', LINES, '[' .. line, '(' .. line .. ':', 'BYLEX', 'LIMIT', 0, asked + 1)) do
        local rank, number = read_entry(entry, #line)
        if i > asked then
          place.rest = rank
        else
          count = count + 1
          entries[count], numbers[count] = { key = key, rank = rank, number = number, entry = entry }, number
        end
      end
    end
  end
  key_step.entries = key_step.entries + count

  local stale, waiting, waiting_count, seen, are_ordered = {}, {}, 0, {}, true
  for n, rank in ipairs(count > 0 and redis.call('ZMSCORE', HELD, unpack(numbers)) or {}) do
    local one = entries[n]
    local place = places[one.key]
    if tonumber(rank or nil) ~= one.rank or seen[one.number] then
      stale[#stale + 1] = one.entry
    elseif place.free == 0 then
      place.rest = math.min(place.rest or one.rank, one.rank)
    else
      are_ordered = are_ordered and (waiting_count == 0 or waiting[waiting_count].rank <= one.rank)
      waiting_count = waiting_count + 1
      seen[one.number], waiting[waiting_count], place.free = one, one, place.free - 1
    end
  end
  for _, key in ipairs(keys) do
    local place = places[key]
    place.next = place.rest
    if place.was_read and place.free > 0 and place.rest and place.rest < bound then bound, cut = place.rest, key end
  end
  local items, item_count = {}, 0
  if not are_ordered then table.sort(waiting, function(one, other) return one.rank < other.rank end) end
  for _, one in ipairs(waiting) do
    local place = places[one.key]
    if one.rank < bound then
      item_count = item_count + 1
      items[item_count] = one
    else
      place.next = math.min(place.next or one.rank, one.rank)
    end
  end
  return items, seen, stale, cut
end

-- Closes those of the keys that are full or have no line, and moves the others to where their lines go on. Those whose
-- rates are used up open when that is allowed, also if they are full.
local function close_keys(keys, places, limits, meters, ranks)
  local closed, moved = {}, {}
  for _, key in ipairs(keys) do
    local place = places[key]
    if place.flag and meters and allowed_by(meters, key) < 1 then
      moved[#moved + 1] = opening_of(meters, key)
      moved[#moved + 1] = key
      key_step.timed = true
    elseif not place.unknown and (not place.flag or place.count >= limits[key]) then
      closed[#closed + 1] = key
    elseif place.flag and ranks[key] ~= place.flag then
      moved[#moved + 1] = text(place.flag)
      moved[#moved + 1] = key
    end
  end
  if #closed > 0 then redis.call('ZREM', OPEN, unpack(closed)) end
  if #moved > 0 then redis.call('ZADD', OPEN, unpack(moved)) end
end

-- Leases up to `need` held items of this priority, directly from the lines of open keys, in the order of their ranks.
-- `most`: at most how many entries; `room`: at most how many bytes, but at least one item if it is the first; `plain`: no
-- item has details. Returns how many entries it has taken, the room that is left, and how many items it has read that are
-- dead now. A key that is full or whose line is cut costs a round: the next one looks at more keys, and further.
local MAX_WIDTH = 100
local function take_open(priority, need, most, room, is_first, plain, drop_expired)
  local width = math.max(1, math.min(MAX_WIDTH, math.max(need, key_step.width), MAX_CALLS - key_step.calls))
  -- Items that had come back to the front stand among the held ones of their priority.
  local keys, ranks, bound = read_open(width, front_rank(priority) or rank_of(priority, MIDDLE))
  key_step.width, key_step.calls = 2 * width, key_step.calls + 25 + #keys
  local places, limits = read_places(keys), read_limits(keys)
  drop_stale(keys, places, limits)
  local meters = read_meters(keys)
  local items, item_of, dropped, cut = read_lines(keys, ranks, places, limits, meters, bound, math.min(1000, most))
  if cut then key_step.ahead[cut] = 2 * places[cut].asked end

  local popped, known, found, died = {}, not plain and {}, {}, 0
  local function leave(from)
    for n = #items, from, -1 do
      local one = items[n]
      local place = places[one.key]
      place.next = math.min(place.next or one.rank, one.rank)
      items[n], popped[n] = nil, nil
    end
  end
  leave(need + 1)
  for n, one in ipairs(items) do popped[n] = one.number end
  if known and #popped > 0 then
    local fits
    known = redis.call('HMGET', DETAILS, unpack(popped))
    fits, room = fitting(known, room, is_first and 1 or 0)
    leave(fits + 1)
    for n = #known, fits + 1, -1 do known[n] = nil end
  end
  if #popped > 0 then
    local stale = #dropped
    for n, one in ipairs(items) do dropped[stale + n] = one.entry end
    redis.call('ZREM', HELD, unpack(popped))
    found = redis.call('HMGET', ITEMS, unpack(popped))
    if drop_expired then died = drop_expired(popped, found, known) end
  end
  for i, number in ipairs(popped) do
    local key = item_of[number].key
    if found[i] then take_place(places[key], number) end
    if found[i] and meters then charge(meters, key) end
  end
  for _, key in ipairs(keys) do
    local place = places[key]
    if place.was_read then
      place.changed = place.changed or place.flag ~= place.next
      place.flag = place.next
    end
  end
  write_places(keys, places)
  if meters then write_meters(meters) end
  local leases, count = deadlines_for(popped, found)
  note_leased(popped, found, known, count)
  local added = add_leases(leases, count)
  if added < count then drop_doubles(popped, found, leases, count - added) end
  for i = 1, #popped do
    if found[i] then append(popped[i], found[i], known and known[i]) end
  end
  if #dropped > 0 then redis.call('ZREM', LINES, unpack(dropped)) end
  close_keys(keys, places, limits, meters, ranks)
  return #dropped, room, died
end
