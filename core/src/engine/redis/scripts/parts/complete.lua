-- Completes the items that ARGV[at] to ARGV[to] name: their count, the numbers, the ids, the count of
-- those that are not the first delivery, for each of these index and delivery, the count of the strict ones, and
-- their indexes. Returns a string: for each item 1 (true: completed by this call) or 0 (false).
local function complete(at, to)
  local count = tonumber(ARGV[at])
  local first, last = at + 1, at + count -- the numbers; as many ids follow
  local deliveries, strict, rest = {}, {}, at + 1 + 2 * count
  local later = tonumber(ARGV[rest])
  for i = rest + 1, rest + 2 * later, 2 do deliveries[tonumber(ARGV[i])] = ARGV[i + 1] end
  for i = rest + 2 * later + 2, to do strict[tonumber(ARGV[i])] = true end

  -- If an item came back since, its delivery is another one. If the delivery is the caller's, the item is
  -- leased, or gone, unless the server lost the lease with its latest data.
  local details = redis.call('EXISTS', DETAILS) == 1 and redis.call('HMGET', DETAILS, unpack(ARGV, first, last))
  local stale, one_by_one, priority, mixed = {}, false, nil, false
  if details or later > 0 then
    for i = 1, count do
      local packed = details and details[i]
      if delivery_of(packed) ~= (deliveries[i] or '0') then stale[i], one_by_one = true, true end
      local own = packed and string.sub(packed, 1, 1) or '0'
      priority, mixed = own, mixed or (priority ~= nil and own ~= priority)
    end
  end
  -- The priority of items that were not leased must be known, to count their tombstones.
  if mixed and not one_by_one then
    for _, deadline in ipairs(redis.call('ZMSCORE', LEASED, unpack(ARGV, first, last))) do
      one_by_one = one_by_one or not deadline
    end
  end

  local taken = one_by_one and 0 or redis.call('ZREM', LEASED, unpack(ARGV, first, last))
  if taken == count then
    redis.call('HDEL', ITEMS, unpack(ARGV, first, last))
    redis.call('HDEL', IDS, unpack(ARGV, last + 1, last + count))
    if details then redis.call('HDEL', DETAILS, unpack(ARGV, first, last)) end
    redis.call('HINCRBY', META, 'completed', text(count))
    return string.rep('1', count)
  end

  local answers, numbers, ids, their_details, places, seen = {}, {}, {}, {}, {}, {}
  for i = 1, count do
    local number = ARGV[at + i]
    answers[i] = '0'
    if not seen[number] and not (stale[i] and strict[i]) then
      seen[number] = true
      local n = #numbers + 1
      numbers[n], ids[n], their_details[n], places[n] = number, ARGV[last + i], details and details[i], i
    end
  end
  if #numbers == 0 then return table.concat(answers) end

  -- One command can only test many fields of a hash by reading them, and records may be large. An item
  -- exists if its id leads to it.
  local known = redis.call('HMGET', IDS, unpack(ids))
  for i, number in ipairs(numbers) do known[i] = known[i] == number end
  local completed, theirs = delete_items(numbers, ids, known, their_details, taken)
  for i, place in ipairs(places) do answers[place] = theirs[i] end
  if completed > 0 then redis.call('HINCRBY', META, 'completed', text(completed)) end
  return table.concat(answers)
end
