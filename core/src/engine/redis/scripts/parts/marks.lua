-- Cancellation of leased items. MARKS has the items that are not to come back when their leases end, each with the head
-- of its record: who ends an item need not read its record then.

-- Which of these items are marked: number to head, or nil if none is.
local function find_marked(numbers)
  if redis.call('EXISTS', MARKS) == 0 then return nil end
  local marked
  for i, head in ipairs(redis.call('HMGET', MARKS, unpack(numbers))) do
    if head then
      marked = marked or {}
      marked[numbers[i]] = head
    end
  end
  return marked
end

-- Cancels items whose leases have just ended, of those that `find_marked` has found: they are gone, or retained.
local function end_marked(numbers, marked)
  local kept, retains, kept_ids, gone, ids, keys, names = {}, {}, {}, {}, {}, {}, {}
  for i, number in ipairs(numbers) do
    local id, retain, key, _, _, name = read_head(marked[number])
    names[i] = name
    retain = retention(retain)
    if retain > 0 then
      kept[#kept + 1], retains[#retains + 1], kept_ids[#kept_ids + 1] = number, retain, id or false
    else
      gone[#gone + 1], ids[#ids + 1], keys[#gone + 1] = number, id, key
    end
  end
  names = attached_names(numbers, names)
  if next(names) then fire(numbers, names, ENDS, 'l') end
  if has_events() then note_events('x', numbers) end
  if #kept > 0 then retain_items(CANCELLED, kept, retains, {}) end
  if #gone > 0 then
    delete_leased(gone, ids)
    release_keys(keys, gone)
  end
  redis.call('HINCRBY', META, 'cancelled', #numbers)
  report_endings('x', ids)
  report_endings('X', kept_ids)
end
