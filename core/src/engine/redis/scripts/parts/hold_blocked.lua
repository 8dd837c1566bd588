-- Whether one of `asked` numbers has a place of the same key already.
local FEW = 16
local function is_placed(place, number, asked)
  -- Searching the text for each of many numbers would take longer than reading it once.
  if (asked or 1) <= FEW then return has_place(place, number) end
  if not place.has then
    place.has = {}
    for _, taken in ipairs(numbers_of(place, math.huge)) do place.has[taken] = true end
  end
  return place.has[number]
end

-- Of the items popped from a ready list, up to the first `need` that can be leased: gives those with keys their places,
-- and holds those that must wait. These are dropped from the lists. The caller leases the others, and puts back what
-- follows. `keys`: index to the key of an item; `orders`: number to the order of an item that had come back to the
-- front (nil if none had). Returns how many are held.
local function hold_blocked(popped, found, known, need, priority, keys, orders)
  local count, named, named_count, seen, shared = #popped, {}, 0, {}, {}
  for i = 1, count do
    local key = keys[i]
    if key and seen[key] then
      shared[key] = (shared[key] or 1) + 1
    elseif key then
      named_count = named_count + 1
      named[named_count], seen[key] = key, true
    end
  end
  -- Usually a key has one item, and no place is taken: it gets one (`fresh`). Others are looked at.
  local places, busy, fresh, limits, meters = {}, {}, {}, nil, read_meters(named)
  for n, value in ipairs(redis.call('HMGET', PLACES, unpack(named))) do
    local key = named[n]
    if value or shared[key] or meters and allowed_by(meters, key) < 1 then
      busy[#busy + 1], places[key] = key, read_place(value)
    end
  end
  -- A number that has a place already is in the list twice, which is damage and found by the caller, or a script died
  -- before it leased the item.
  local placed, their_keys, is_leased, lost = {}, {}, {}, {}
  for i = 1, #busy > 0 and count or 0 do
    local key, number = keys[i], popped[i]
    local place = key and places[key]
    if place and place.count > 0 and is_placed(place, number, shared[key]) then
      placed[#placed + 1], their_keys[#placed + 1] = number, key
    end
  end
  for n, deadline in ipairs(#placed > 0 and redis.call('ZMSCORE', LEASED, unpack(placed)) or {}) do
    local key = their_keys[n]
    if deadline then
      is_leased[placed[n]] = true
    else
      lost[key] = lost[key] or {}
      table.insert(lost[key], placed[n])
    end
  end
  for key, theirs in pairs(lost) do leave_places(places[key], theirs) end
  if #busy > 0 then
    limits = read_limits(busy)
    drop_stale(busy, places, limits)
  end

  -- The rank that an item would have.
  local function next_rank(number)
    local order = orders and orders[number]
    if order then return rank_of(priority, -order) end
    key_step.order = (key_step.order or read_order()) + 1
    return rank_of(priority, key_step.order)
  end
  priority = tonumber(priority)
  local held, held_count, opening, timed, kept, leased, fresh_size = {}, 0, {}, {}, 0, 0, 0
  for i = 1, count do
    local key, number, rank = leased < need and keys[i], popped[i], nil
    local place = key and places[key]
    if key and not place then
      fresh[fresh_size + 1], fresh[fresh_size + 2] = key, ' ' .. number .. ' '
      fresh_size = fresh_size + 2
      if meters then charge(meters, key) end
    elseif place and not is_leased[number] then
      local is_late = meters and allowed_by(meters, key) < 1
      local is_free = place.count < limits[key] and not is_late
      if not is_free or place.flag then rank = next_rank(number) end
      if is_free and not (rank and rank >= place.flag) then
        rank = nil
        take_place(place, number)
        if meters then charge(meters, key) end
      else
        flag(place, rank)
        if is_late and not place.opens then
          place.opens, timed[#timed + 1], timed[#timed + 2] = true, opening_of(meters, key), key
        elseif (is_free or place.unknown) and not place.opens then place.opens, opening[#opening + 1] = true, key end
      end
    end
    if rank then
      held_count = held_count + 1
      held[held_count] = { key = key, rank = rank, number = number }
    else
      if found[i] then leased = leased + 1 end
      kept = kept + 1
      popped[kept], found[kept] = number, found[i]
      if known then known[kept] = known[i] end
    end
  end
  for i = count, kept + 1, -1 do
    popped[i], found[i] = nil, nil
    if known then known[i] = nil end
  end
  open_keys(opening, places)
  if #timed > 0 then
    -- Also those that are open: perhaps at a rank behind the items that are held now.
    redis.call('ZADD', OPEN, unpack(timed))
    key_step.timed = true
  end
  write_places(busy, places, fresh)
  if meters then write_meters(meters) end
  if #held > 0 then hold(held, key_step.order or read_order()) end
  return #held
end
