-- The delivery that the next or the current lease of the item has, as text.
local function delivery_of(packed)
  return packed and string.match(packed, '^%d:%d+:%d+:%d+:(%d+)') or '0'
end

-- The extra of each number; nil if no item has any, which is usual.
local function read_extras(numbers)
  if redis.call('EXISTS', EXTRA) == 0 then return nil end
  return redis.call('HMGET', EXTRA, unpack(numbers))
end
