-- Completes the items that ARGV names from `at` to `to`: how many, the numbers, the ids, then how many
-- are no first delivery, for each of them index and delivery, then the indexes of the strict ones.
-- Returns a string: for each item 1 (true: completed by this call) or 0 (false).
local function complete(at, to)
  local count = tonumber(ARGV[at])
  local first, last = at + 1, at + count -- the numbers, which are as many as the ids after them
  local deliveries, strict, rest = {}, {}, at + 1 + 2 * count
  local later = tonumber(ARGV[rest])
  for i = rest + 1, rest + 2 * later, 2 do deliveries[tonumber(ARGV[i])] = ARGV[i + 1] end
  for i = rest + 2 * later + 1, to do strict[tonumber(ARGV[i])] = true end

  -- An item that came back since has another delivery; one with the caller's is leased, if it exists,
  -- unless the server has lost the lease with its latest data.
  local extras = redis.call('EXISTS', EXTRA) == 1 and redis.call('HMGET', EXTRA, unpack(ARGV, first, last))
  local stale, one_by_one, priority, mixed = {}, false, nil, false
  if extras or later > 0 then
    for i = 1, count do
      local extra = extras and extras[i]
      if delivery_of(extra) ~= (deliveries[i] or '0') then stale[i], one_by_one = true, true end
      local own = extra and string.sub(extra, 1, 1) or '0'
      priority, mixed = own, mixed or (priority ~= nil and own ~= priority)
    end
  end
  -- Of which priority those are that were not leased must be known.
  if mixed and not one_by_one then
    for _, deadline in ipairs(redis.call('ZMSCORE', LEASED, unpack(ARGV, first, last))) do
      one_by_one = one_by_one or not deadline
    end
  end

  local taken = one_by_one and 0 or redis.call('ZREM', LEASED, unpack(ARGV, first, last))
  if taken == count then
    redis.call('HDEL', ITEMS, unpack(ARGV, first, last))
    redis.call('HDEL', IDS, unpack(ARGV, last + 1, last + count))
    if extras then redis.call('HDEL', EXTRA, unpack(ARGV, first, last)) end
    redis.call('HINCRBY', META, 'completed', text(count))
    return string.rep('1', count)
  end

  local answers, numbers, ids, own, places, seen = {}, {}, {}, {}, {}, {}
  for i = 1, count do
    local number = ARGV[at + i]
    answers[i] = '0'
    if not seen[number] and not (stale[i] and strict[i]) then
      seen[number] = true
      local n = #numbers + 1
      numbers[n], ids[n], own[n], places[n] = number, ARGV[last + i], extras and extras[i], i
    end
  end
  if #numbers == 0 then return table.concat(answers) end

  -- A hash cannot be asked in one go whether it has fields without reading them. But an item is there if its
  -- id leads to it.
  local known = redis.call('HMGET', IDS, unpack(ids))
  for i, number in ipairs(numbers) do known[i] = known[i] == number end
  local completed, theirs = delete_items(numbers, ids, known, own, taken)
  for i, place in ipairs(places) do answers[place] = theirs[i] end
  if completed > 0 then redis.call('HINCRBY', META, 'completed', text(completed)) end
  return table.concat(answers)
end
