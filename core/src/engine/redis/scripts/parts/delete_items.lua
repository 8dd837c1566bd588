-- Deletes items in any state. The lists have the same order: numbers (each once), ids, whether the item is
-- known to exist, and details. An item with a state other than ready is known to exist, too. `taken` of the
-- items were leased and are no longer in LEASED; then all items have the same priority.
-- The number of a ready item stays in its list as a tombstone, which `take` skips. `gone:P` in META counts
-- the tombstones of priority P, so that the counts stay exact.
-- Returns how many items existed, and for each item '1' or '0'.
local function delete_items(numbers, ids, known, details, taken)
  local states = {}
  for _, key in ipairs(SETS) do
    if key ~= LEASED or taken == 0 then
      for i, score in ipairs(redis.call('ZMSCORE', key, unpack(numbers))) do states[i] = states[i] or score end
    end
  end
  local answers, existing, their_ids, with_details, gone = {}, {}, {}, {}, {}
  for i, number in ipairs(numbers) do
    answers[i] = (known[i] or states[i]) and '1' or '0'
    if answers[i] == '1' then
      existing[#existing + 1] = number
      if known[i] and ids[i] then their_ids[#their_ids + 1] = ids[i] end
      if details[i] then with_details[#with_details + 1] = number end
      if not states[i] then
        local priority = details[i] and string.match(details[i], '^%d') or '0'
        gone[priority] = (gone[priority] or 0) + 1
      end
    end
  end
  if #existing == 0 then return 0, answers end
  redis.call('HDEL', ITEMS, unpack(existing))
  if #their_ids > 0 then redis.call('HDEL', IDS, unpack(their_ids)) end
  for _, key in ipairs(SETS) do redis.call('ZREM', key, unpack(existing)) end
  for priority, count in pairs(gone) do
    if count > taken then redis.call('HINCRBY', META, 'gone:' .. priority, text(count - taken)) end
  end
  if #with_details > 0 then redis.call('HDEL', DETAILS, unpack(with_details)) end
  return #existing, answers
end
