-- Removes items from wherever they are, with everything kept about them. Numbers (each once), ids, whether
-- they are known to exist, and extras stand in the same order. `taken` of the items were leased, and were
-- taken out of LEASED before; then all have one priority. An item is also known to exist by its state,
-- unless it is ready. A ready item's number stays in its list as a tombstone, skipped when popped; `gone:P`
-- in META counts those of priority P, so that the counts stay exact.
-- Returns how many existed, and for each 1 or 0, as text.
local function delete_items(numbers, ids, known, extras, taken)
  local states = taken > 0 and {} or redis.call('ZMSCORE', LEASED, unpack(numbers))
  for _, key in ipairs({ DELAYED, DEAD }) do
    for i, score in ipairs(redis.call('ZMSCORE', key, unpack(numbers))) do states[i] = states[i] or score end
  end
  local answers, there, their_ids, described, gone = {}, {}, {}, {}, {}
  for i, number in ipairs(numbers) do
    answers[i] = (known[i] or states[i]) and '1' or '0'
    if answers[i] == '1' then
      there[#there + 1] = number
      if known[i] and ids[i] then their_ids[#their_ids + 1] = ids[i] end
      if extras[i] then described[#described + 1] = number end
      if not states[i] then
        local priority = extras[i] and string.match(extras[i], '^%d') or '0'
        gone[priority] = (gone[priority] or 0) + 1
      end
    end
  end
  if #there == 0 then return 0, answers end
  redis.call('HDEL', ITEMS, unpack(there))
  if #their_ids > 0 then redis.call('HDEL', IDS, unpack(their_ids)) end
  for _, key in ipairs({ LEASED, DELAYED, DEAD }) do redis.call('ZREM', key, unpack(there)) end
  for priority, count in pairs(gone) do
    if count > taken then redis.call('HINCRBY', META, 'gone:' .. priority, text(count - taken)) end
  end
  if #described > 0 then redis.call('HDEL', EXTRA, unpack(described)) end
  return #there, answers
end
