-- Drops up to `limit` keys whose rates have refilled. Returns whether there may be more.
local function drop_refilled(limit)
  local keys = redis.call('ZRANGE', METERS, '-inf', now * 1000, 'BYSCORE', 'LIMIT', 0, limit)
  if #keys > 0 then redis.call('ZREM', METERS, unpack(keys)) end
  return #keys == limit
end
