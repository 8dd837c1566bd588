-- Deletes items, as parts/delete_items.lua, with all that extended queues keep for them.
local function delete_all_of(numbers, ids, known, details)
  release_uniques(numbers)
  local count, answers = delete_items(numbers, ids, known, details, 0)
  for _, key in ipairs({ RESULTS, ENDED, RETAINS, OWNED, MARKS }) do redis.call('HDEL', key, unpack(numbers)) end
  redis.call('ZREM', EXPIRIES, unpack(numbers))
  return count, answers
end

-- Deletes items that were leased until now.
local function delete_leased(numbers, ids)
  release_uniques(numbers)
  for _, key in ipairs({ ITEMS, DETAILS, RETAINS, OWNED, MARKS }) do redis.call('HDEL', key, unpack(numbers)) end
  redis.call('HDEL', IDS, unpack(ids))
  redis.call('ZREM', EXPIRIES, unpack(numbers))
end
