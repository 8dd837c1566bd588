-- Deletes items, as parts/delete_items.lua, with all that extended queues keep for them. `keys`: their unique keys.
local function delete_all_of(numbers, ids, known, details, keys)
  local count, answers = delete_items(numbers, ids, known, details, 0)
  for _, key in ipairs({ RESULTS, ENDED, MARKS }) do redis.call('HDEL', key, unpack(numbers)) end
  redis.call('ZREM', EXPIRIES, unpack(numbers))
  -- At the end: a lease that is current owns its key.
  release_keys(keys, numbers)
  return count, answers
end
