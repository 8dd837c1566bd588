-- Of the items popped from a ready list, up to the first `need` that can be leased: gives those with keys their places,
-- and holds those that must wait. These are dropped from the lists. The caller leases the others, and puts back what
-- follows. `keys`: index to the key of an item. Returns how many are held.
local function hold_blocked(popped, found, known, need, priority, keys)
  local count, named, places = #popped, {}, {}
  for i = 1, count do
    local key = keys[i]
    if key and not places[key] then named[#named + 1], places[key] = key, true end
  end
  places = read_places(named)
  local limits = read_limits(named)
  drop_stale(named, places, limits)

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
    if place and not has_place(place, number) then
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
  write_places(named, places)
  if #held > 0 then hold(held, last) end
  return #held
end
