-- Completes the items that ARGV[at] to ARGV[to] name, and retains some of them. The arguments are those of
-- parts/complete.lua, perhaps followed by
--   how long the items are retained, in ms (-1: as each was added), the count of those for which that differs, and
--   for each index and time
--   the count of those with a result, and the results if all have one, else for each index and result
-- Returns a string: for each item 1 (true: completed by this call) or 0 (false).

-- The usual case: all leases are current, and all items are retained for the same time, or none is.
local function complete_alike(numbers, ids, retain, results)
  local count = #numbers
  if retain > 0 then
    make_extended(redis.call('HGET', META, 'format'))
    retain_items(COMPLETED, numbers, retain, results)
  else
    delete_leased(numbers, ids)
  end
  redis.call('HINCRBY', META, 'completed', text(count))
  report_endings(retain > 0 and 'C' or 'c', ids)
  return string.rep('1', count)
end

local function complete(at, to)
  local count = tonumber(ARGV[at])
  local first, last = at + 1, at + count
  local place = last + count + 1
  local function read_pairs()
    local values, pair_count = {}, tonumber(ARGV[place])
    for i = place + 1, place + 2 * pair_count, 2 do values[tonumber(ARGV[i])] = ARGV[i + 1] end
    place = place + 2 * pair_count + 1
    return values
  end
  local deliveries, strict = read_pairs(), {}
  local strict_end = place + tonumber(ARGV[place])
  for i = place + 1, strict_end do strict[tonumber(ARGV[i])] = true end
  place = strict_end + 1
  local retain_all, retain_of, results = -1, {}, {}
  if place < to then
    retain_all, place = tonumber(ARGV[place]), place + 1
    retain_of = read_pairs()
    if tonumber(ARGV[place]) == count then
      results = { unpack(ARGV, place + 1, place + count) }
    else
      results = read_pairs()
    end
  end

  local numbers, ids = { unpack(ARGV, first, last) }, { unpack(ARGV, last + 1, last + count) }
  local details, leased = redis.call('HMGET', DETAILS, unpack(numbers)), redis.call('ZMSCORE', LEASED, unpack(numbers))
  local as_added = retain_all < 0 or next(retain_of)
  local stored = as_added and redis.call('HMGET', RETAINS, unpack(numbers)) or {}

  local usual, alike = stored[1], next(retain_of) == nil
  for i = 1, count do
    if not leased[i] or stored[i] ~= usual or delivery_of(details[i]) ~= (deliveries[i] or '0') then
      alike = false
      break
    end
  end
  -- If a batch has a lease twice, the second one does not count.
  if alike and redis.call('ZREM', LEASED, unpack(numbers)) == count then
    return complete_alike(numbers, ids, retention(retain_all >= 0 and retain_all or usual), results)
  end

  local answers, seen, alive = {}, {}, nil
  local function new_batch()
    return { numbers = {}, ids = {}, details = {}, known = {}, retains = {}, results = {}, places = {} }
  end
  -- Those that are retained, and those that are not, of items that are leased and of others.
  local kept, gone, kept_late, gone_late = new_batch(), new_batch(), new_batch(), new_batch()
  for i, number in ipairs(numbers) do
    local current = leased[i] and delivery_of(details[i]) == (deliveries[i] or '0')
    answers[i] = '0'
    if not current and not strict[i] and not alive then
      -- Who comes late completes an item that exists and has not ended, whatever its state is by now.
      alive = redis.call('HMGET', IDS, unpack(ids))
      for n = 1, count do alive[n] = alive[n] == numbers[n] end
      for _, set in ipairs({ COMPLETED, CANCELLED }) do
        for n, score in ipairs(redis.call('ZMSCORE', set, unpack(numbers))) do alive[n] = alive[n] and not score end
      end
    end
    if not seen[number] and (current or (not strict[i] and alive[i])) then
      seen[number], answers[i] = true, '1'
      local own = tonumber(retain_of[i]) or retain_all
      local retain = retention(own >= 0 and own or stored[i])
      local batch = leased[i] and (retain > 0 and kept or gone) or (retain > 0 and kept_late or gone_late)
      local n = #batch.numbers + 1
      batch.numbers[n], batch.ids[n], batch.details[n], batch.known[n] = number, ids[i], details[i], true
      batch.retains[n], batch.results[n], batch.places[n] = retain, results[i] or false, i
    end
  end
  -- Of a ready item, an entry of a ready list is left, so it is copied. The client limits how much of data a call
  -- names. A script that died half-way may have left an id without an item.
  local late, records = new_batch(), {}
  if #kept_late.numbers > 0 then
    for n, record in ipairs(redis.call('HMGET', ITEMS, unpack(kept_late.numbers))) do
      if record then
        records[#records + 1] = record
        for name, values in pairs(kept_late) do late[name][#records] = values[n] end
      else
        answers[kept_late.places[n]] = '0'
      end
    end
    kept_late = late
  end

  -- Plain scripts must know no retained item.
  if #kept.numbers + #kept_late.numbers > 0 then make_extended(redis.call('HGET', META, 'format')) end
  if #gone.numbers > 0 then
    redis.call('ZREM', LEASED, unpack(gone.numbers))
    delete_leased(gone.numbers, gone.ids)
  end
  if #kept.numbers > 0 then
    redis.call('ZREM', LEASED, unpack(kept.numbers))
    retain_items(COMPLETED, kept.numbers, kept.retains, kept.results)
  end
  if #gone_late.numbers > 0 then
    delete_all_of(gone_late.numbers, gone_late.ids, gone_late.known, gone_late.details)
  end
  if #kept_late.numbers > 0 then
    local scores, items, over = {}, {}, {}
    for _, set in ipairs({ DELAYED, DEAD, EXPIRIES }) do scores[set] = redis.call('ZMSCORE', set, unpack(kept_late.numbers)) end
    for i, number in ipairs(kept_late.numbers) do
      local x, expired = unpack_details(kept_late.details[i]), has_passed(scores[EXPIRIES][i])
      if expired then over[#over + 1] = number end
      items[i] = { number = number, id = kept_late.ids[i], record = records[i], x = x, priority = x.priority,
        delayed = scores[DELAYED][i], dead = scores[DEAD][i],
        without_key = scores[DEAD][i] or expired } -- it is another item's, perhaps
    end
    -- The death of those that have expired is still to come.
    if #over > 0 then release_uniques(over) end
    renumber(items, salt_of_call())
    for i, item in ipairs(items) do kept_late.numbers[i] = item.number end
    retain_items(COMPLETED, kept_late.numbers, kept_late.retains, kept_late.results)
  end
  local completed = #gone.numbers + #kept.numbers + #gone_late.numbers + #kept_late.numbers
  if completed > 0 then
    redis.call('HINCRBY', META, 'completed', text(completed))
    for _, batch in ipairs({ gone, gone_late }) do report_endings('c', batch.ids) end
    for _, batch in ipairs({ kept, kept_late }) do report_endings('C', batch.ids) end
  end
  return table.concat(answers)
end
