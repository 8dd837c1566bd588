-- The details of an item, packed: `priority:size:max_attempts:failures:expiries:deliveries:front:since:error`.
-- Items whose details all have their defaults have none.
--   size        of the record if it is large (parts/large.lua), else 0
--   deliveries  how often the item was leased and came back; with the number it is the token of a lease
--   front       1 if a delayed item goes to the front when due
--   since       server time at which the item became ready, 0 for the time of its add
local function unpack_details(packed)
  if not packed then
    return { priority = 0, size = 0, max_attempts = 0, failures = 0, expiries = 0, deliveries = 0, front = 0, since = 0,
      error = '' }
  end
  local p, size, m, f, e, d, front, since, error =
    string.match(packed, '^(%d):(%d+):(%d+):(%d+):(%d+):(%d+):(%d):(%d+):(.*)$')
  if not p then
    -- Damage must not stop the queue: the defaults count, and no earlier lease is current.
    p, size, m, f, e, d, front, since, error = 0, 0, 0, 0, 0, now, 0, 0, ''
  end
  return {
    priority = tonumber(p), size = tonumber(size), max_attempts = tonumber(m), failures = tonumber(f),
    expiries = tonumber(e), deliveries = tonumber(d), front = tonumber(front), since = tonumber(since), error = error,
  }
end

local function pack_details(x)
  return string.format('%d:%d:%d:%d:%d:%d:%d:%d:', x.priority, x.size, x.max_attempts, x.failures, x.expiries,
    x.deliveries, x.front, x.since) .. x.error
end
