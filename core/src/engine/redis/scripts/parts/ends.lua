-- Begins to free the places of items whose leases end; nil if no item of the queue has a place. `deadlines`: false for items
-- that are not leased.
local function find_leaving(numbers, details, deadlines)
  return begin_leaving(numbers, keys_of_leases(numbers, details, deadlines))
end

-- Counts items that came back to the front of a ready list. See parts/fronts.lua.
local function came_back(priority, count)
  if redis.call('EXISTS', PLACES) == 1 then came_to_front(priority, count) end
end

-- Notes leases that end, with the new details behind each number, and those of the items that die of it.
local function note_ends(kind, changed, died)
  if not has_events() then return end
  local numbers, details = {}, {}
  for i = 1, #changed, 2 do numbers[#numbers + 1], details[#numbers + 1] = changed[i], changed[i + 1] end
  note_events(kind, numbers, nil, details, kind == 'b' and 1 or 0) -- a release counts no attempt
  note_events('d', died or {})
end

-- What the end of a lease, or of an item that waits for one, may end besides. A plain queue has nil instead.
local ends = {
  find_marked = find_marked, end_marked = end_marked, find_expired = find_expired, items_expired = items_expired,
  attempts_counted = attempts_counted, default_attempts = default_attempts, find_leaving = find_leaving,
  came_back = came_back, fire_deaths = fire_deaths, fire_added = fire_added, note_ends = note_ends,
  follow = follow,
}
