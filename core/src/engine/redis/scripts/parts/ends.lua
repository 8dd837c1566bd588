-- The places of items whose leases end, or that come back to the front; nil if no item of the queue has a place.
local function find_leaving(numbers, details) return find_places(numbers, keys_of_leases(numbers, details)) end

-- What the end of a lease, or of an item that waits for one, may end besides. A plain queue has nil instead.
local ends = {
  find_marked = find_marked, end_marked = end_marked, find_expired = find_expired, items_expired = items_expired,
  attempts_counted = attempts_counted, default_attempts = default_attempts, find_leaving = find_leaving,
  joins_line = joins_line, leave_places = leave_places, fire_deaths = fire_deaths, fire_added = fire_added,
}
