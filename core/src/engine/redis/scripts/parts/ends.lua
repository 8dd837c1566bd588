-- What the end of a lease, or of an item that waits for one, may end besides. A plain queue has nil instead.
local ends = {
  find_marked = find_marked, end_marked = end_marked, find_expired = find_expired, items_expired = items_expired,
  attempts_counted = attempts_counted, default_attempts = default_attempts,
}
