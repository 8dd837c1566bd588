-- Gives items new numbers, so that each is a new generation: the entries of ready lists that name the old numbers
-- are tombstones, and no lease of the old numbers can do anything. The caller then puts the new numbers into their
-- states: an item that is in none, because the server stopped in between, is found by a deep clean.
-- `items`: as parts/unleased.lua reads them, each with the details and the record that it is to have, and its stored
-- id; `priority` is the one that it had. Their numbers change. `salt`: of the new numbers.
-- At any time there is one item that can be found: until the old record is deleted, a deep clean deletes the new
-- one, because its id leads to the old one; after that its id is made to lead to it.
local function renumber(items, salt)
  local meta = redis.call('HMGET', META, 'last', 'largest')
  local count = math.max(meta[1] and count_of(meta[1]) or 0, (now - YEAR_2026) * 256)
  local largest, large = tonumber(meta[2]) or 0, nil
  local records, details, ids, old, gone = {}, {}, {}, {}, {}
  for n, item in ipairs(items) do
    local x, number = item.x, in_base_36(count + n) .. salt
    x.sections.A = x.sections.A or text(math.floor((count_of(item.number) or 0) / 256) + YEAR_2026)
    x.deliveries, x.size = 0, 0
    if #item.record > LARGE_RECORD then
      x.size, large, largest = #item.record, number, math.max(largest, #item.record)
    end
    records[2 * n - 1], records[2 * n] = number, item.record
    details[2 * n - 1], details[2 * n] = number, pack_details(x)
    ids[2 * n - 1], ids[2 * n] = item.id, number
    if not item.delayed and not item.dead then gone[item.priority] = (gone[item.priority] or 0) + 1 end
    old[n], item.number = item.number, number
  end
  redis.call('HSET', META, 'last', items[#items].number)
  if large then redis.call('HSET', META, 'large', large, 'largest', text(largest)) end
  redis.call('HSET', ITEMS, unpack(records))
  redis.call('HSET', DETAILS, unpack(details))
  redis.call('HDEL', ITEMS, unpack(old))
  redis.call('HSET', IDS, unpack(ids))
  for priority, tombstones in pairs(gone) do redis.call('HINCRBY', META, 'gone:' .. priority, tombstones) end
  redis.call('ZREM', DELAYED, unpack(old))
  redis.call('ZREM', DEAD, unpack(old))
  redis.call('HDEL', DETAILS, unpack(old))
end
