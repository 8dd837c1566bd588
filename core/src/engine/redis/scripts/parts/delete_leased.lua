-- Forgets that items are to be cancelled.
local function forget_marks(numbers)
  if redis.call('EXISTS', MARKS) == 1 then redis.call('HDEL', MARKS, unpack(numbers)) end
end

-- Deletes items that were leased until now. The caller then releases their unique keys.
local function delete_leased(numbers, ids)
  redis.call('HDEL', ITEMS, unpack(numbers))
  if #ids > 0 then redis.call('HDEL', IDS, unpack(ids)) end
  if redis.call('EXISTS', DETAILS, EXPIRIES, MARKS) == 0 then return end
  redis.call('HDEL', DETAILS, unpack(numbers))
  if redis.call('EXISTS', EXPIRIES) == 1 then redis.call('ZREM', EXPIRIES, unpack(numbers)) end
  forget_marks(numbers)
end
