-- Gives numbers to what notes of DEFERRED add. First a mark is pushed in front of the notes: how many they are, and the
-- numbers of the first entry for another queue and of the first item. LTRIM drops it with the notes. So if this step stops
-- half-way, the next one takes the same notes, and gives the same numbers: it writes the same records again, to which no id
-- leads yet, and the lane of the other queue has these numbers if the entries have been delivered by then.
-- `found`: see parts/collect.lua; `first`, `first_item`: what a mark has, if there is one. Returns these numbers, and how many
-- elements of DEFERRED are to be dropped.
local function reserve_numbers(found, first, first_item, new_salt)
  if first then return first, first_item, found.count + 1 end
  local entries, items = #found.entries, #found.items
  if entries + items == 0 then return nil, nil, found.count end
  local known = redis.call('HGET', META, 'last')
  local last = math.max(known and count_of(known) or 0, (now - YEAR_2026) * 256)
  first, first_item = in_base_36(last + 1) .. new_salt, in_base_36(last + entries + 1) .. new_salt
  redis.call('HSET', META, 'last', in_base_36(last + entries + items) .. new_salt)
  redis.call('LPUSH', DEFERRED, '#' .. text(found.count) .. ' ' .. first .. ' ' .. first_item)
  return first, first_item, found.count + 1
end
