-- Of the items popped from a ready list, up to the first `need` that can be leased: gives those with keys their places,
-- and holds those that must wait. These are dropped from the lists. The caller leases the others, and puts back what
-- follows. `keys`: index to the key of an item. Returns how many are held.
local function hold_blocked(popped, found, known, need, priority, keys)
  local count, named, seen, shared = #popped, {}, {}, {}
  for i = 1, count do
    local key = keys[i]
    if key and seen[key] then
      shared[key] = true
    elseif key then
      named[#named + 1], seen[key] = key, true
    end
  end
  -- Usually a key has one item, and no place is taken: it gets one (`fresh`). Others are looked at.
  local places, busy, fresh, limits = {}, {}, {}, nil
  for n, value in ipairs(redis.call('HMGET', PLACES, unpack(named))) do
    local key = named[n]
    if value or shared[key] then busy[#busy + 1], places[key] = key, read_place(value) end
  end
  if #busy > 0 then
    limits = read_limits(busy)
    drop_stale(busy, places, limits)
  end

  -- A number that has a place already is in the list twice: damage, which the caller finds.
  local function has_place(place, number)
    for _, other in ipairs(place.numbers) do
      if other == number then return true end
    end
  end
  priority = tonumber(priority)
  local held, opening, kept, leased, last = {}, {}, 0, 0, nil
  for i = 1, count do
    local key, number, waits = leased < need and keys[i], popped[i], false
    local place = key and places[key]
    if key and not place then
      fresh[#fresh + 1] = key
      fresh[#fresh + 1] = ' ' .. number
    elseif place and not has_place(place, number) then
      local is_free = #place.numbers < limits[key]
      waits = not is_free or place.flag and priority <= place.flag
      if not waits then
        place.numbers[#place.numbers + 1], place.changed = number, true
      elseif is_free and not place.opens then
        place.opens, opening[#opening + 1] = true, key
      end
    end
    if waits then
      last = (last or last_order()) + 1
      held[#held + 1] = { key = key, rank = rank_of(priority, last), number = number }
      if not place.flag or place.flag < priority then place.flag, place.changed = priority, true end
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
  write_places(busy, places, fresh)
  if #held > 0 then hold(held, last) end
  return #held
end
