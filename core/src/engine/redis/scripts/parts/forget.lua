-- Removes items that are not (all) leased from wherever they are, with everything kept about them.
-- A ready item's number stays in its list as a tombstone, skipped when popped; `gone:P` in META
-- counts those of priority P, so that the counts stay exact. `leased`: it is known not
-- to be ready.
local function forget(number, id, leased)
  if redis.call('HDEL', ITEMS, number) == 0 then return false end
  redis.call('HDEL', IDS, id)
  local indexed = redis.call('ZREM', LEASED, number)
    + redis.call('ZREM', DELAYED, number)
    + redis.call('ZREM', DEAD, number)
  local packed = redis.call('HGET', EXTRA, number)
  if indexed == 0 and not leased then
    redis.call('HINCRBY', META, 'gone:' .. (packed and string.sub(packed, 1, 1) or '0'), 1)
  end
  if packed then redis.call('HDEL', EXTRA, number) end
  return true
end
