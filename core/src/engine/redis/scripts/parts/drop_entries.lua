-- Drops the entries of those of these items that are held, before they are deleted. Without that, entries that do not count
-- would stand in the lines until a lease or a deep clean comes to them.
local function drop_entries(numbers, details)
  local ranks, entries = redis.call('ZMSCORE', HELD, unpack(numbers)), {}
  for i, key in pairs(keys_of_leases(numbers, details, ranks) or {}) do
    entries[#entries + 1] = entry_of(key, tonumber(ranks[i]), numbers[i])
  end
  if #entries > 0 then redis.call('ZREM', LINES, unpack(entries)) end
end
