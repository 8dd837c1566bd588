-- Removes items that are not (all) leased from wherever they are, with everything kept about them.
-- A ready item's number stays in its list as a tombstone, skipped when popped; `gone:P` in META
-- counts those of priority P, so that the counts stay exact. `taken`: it may have been leased, and
-- taken out of LEASED before. Returns whether it existed, and whether it was in no sorted set.
local function forget(number, id, taken)
  if redis.call('HDEL', ITEMS, number) == 0 then return false end
  redis.call('HDEL', IDS, id)
  local indexed = redis.call('ZREM', LEASED, number)
    + redis.call('ZREM', DELAYED, number)
    + redis.call('ZREM', DEAD, number)
  local packed = redis.call('HGET', EXTRA, number)
  if indexed == 0 and not taken then
    redis.call('HINCRBY', META, 'gone:' .. (packed and string.sub(packed, 1, 1) or '0'), 1)
  end
  if packed then redis.call('HDEL', EXTRA, number) end
  return true, indexed == 0
end
