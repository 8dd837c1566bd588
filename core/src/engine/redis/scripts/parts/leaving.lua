-- Items that leave their places, and those that come back to the front of the queue: if their key has a line, they go to
-- its front, because at the front of a ready list they would be held behind it.

-- Reads the places of keys. `keys`: those of items, by index; nil if none has one. Returns nil if there is nothing to do.
local function find_places(numbers, keys)
  if not keys then return nil end
  local named, key_of, seen = {}, {}, {}
  for i, number in ipairs(numbers) do
    local key = keys[i]
    if key then
      key_of[number] = key
      if not seen[key] then named[#named + 1], seen[key] = key, true end
    end
  end
  if #named == 0 then return nil end
  return { key_of = key_of, named = named, places = read_places(named), returning = {} }
end

-- Whether an item comes back into the line of its key. It is put there by `leave_places`.
local function joins_line(x, number, priority)
  local key = x and x.key_of[number]
  if not key or not x.places[key].flag then return false end
  x.returning[#x.returning + 1] = { key = key, priority = priority, number = number }
  return true
end

-- Frees the places of items that are no longer in LEASED, and puts those that come back into their lines: the first one
-- is leased first.
local function leave_places(x, numbers)
  if not x then return end
  local left, opening, last = {}, {}, #x.returning > 0 and last_order()
  for _, number in ipairs(numbers) do
    local key = x.key_of[number]
    if key then left[number], x.places[key].leaves = true, true end
  end
  for i = #x.returning, 1, -1 do
    local one = x.returning[i]
    local place = x.places[one.key]
    last = last + 1
    one.rank, place.joins = rank_of(one.priority, -last), true
    if place.flag < one.priority then place.flag, place.changed = one.priority, true end
  end
  for _, key in ipairs(x.named) do
    local place, kept = x.places[key], {}
    for _, number in ipairs(place.leaves and place.numbers or {}) do
      if not left[number] then kept[#kept + 1] = number end
    end
    if place.leaves then place.numbers, place.changed = kept, true end
    if place.flag and (place.leaves or place.joins) then opening[#opening + 1] = key end
  end
  open_keys(opening, x.places)
  write_places(x.named, x.places)
  if #x.returning > 0 then hold(x.returning, last) end
end
