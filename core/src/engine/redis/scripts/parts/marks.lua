-- Cancellation of leased items. MARKS has the items that are not to come back when their leases end, each with its
-- stored id: who ends an item need not read its record then.

-- Which of these items are marked: number to stored id, or nil if none is.
local function find_marked(numbers)
  if redis.call('EXISTS', MARKS) == 0 then return nil end
  local marked
  for i, id in ipairs(redis.call('HMGET', MARKS, unpack(numbers))) do
    if id then
      marked = marked or {}
      marked[numbers[i]] = id
    end
  end
  return marked
end

-- Cancels items whose leases have just ended, of those that `find_marked` has found: they are gone, or retained.
local function end_marked(numbers, marked)
  local kept, retains, gone, ids, kept_ids = {}, {}, {}, {}, {}
  for i, retain in ipairs(redis.call('HMGET', RETAINS, unpack(numbers))) do
    retain = retention(retain)
    if retain > 0 then
      kept[#kept + 1], retains[#retains + 1], kept_ids[#kept_ids + 1] = numbers[i], retain, marked[numbers[i]]
    else
      gone[#gone + 1], ids[#ids + 1] = numbers[i], marked[numbers[i]]
    end
  end
  if #kept > 0 then retain_items(CANCELLED, kept, retains, {}) end
  if #gone > 0 then delete_leased(gone, ids) end
  redis.call('HINCRBY', META, 'cancelled', #numbers)
  report_endings('x', ids)
  report_endings('X', kept_ids)
end
