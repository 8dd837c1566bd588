-- Completes items of which some are not leased, or not by the caller. `x`: what parts/complete_extended.lua has read, by
-- index. `taken` of the items were leased and are no longer in LEASED; then all have the same priority. Returns the answers, and
-- the new numbers that it has given, by the old ones.
local function complete_late(numbers, ids, x)
  local count, details, answers, seen, alive = #numbers, x.details, {}, {}, nil
  local scores = x.taken > 0 and {} or redis.call('ZMSCORE', LEASED, unpack(numbers))
  -- Who comes late completes an item that exists and has not ended, whatever its state is by now.
  local function is_alive(i)
    if not alive then
      alive = redis.call('HMGET', IDS, unpack(ids))
      for n = 1, count do alive[n] = alive[n] == numbers[n] end
      for _, set in ipairs({ COMPLETED, CANCELLED }) do
        for n, score in ipairs(redis.call('ZMSCORE', set, unpack(numbers))) do alive[n] = alive[n] and not score end
      end
    end
    return alive[i]
  end

  -- Items that are leased, by whomever, and others: those that are gone, and those that are retained.
  local function new_batch()
    return { numbers = {}, ids = {}, keys = {}, limit_keys = {}, details = {}, known = {}, retains = {}, results = {},
      places = {} }
  end
  local leased, gone, kept = new_batch(), new_batch(), new_batch()
  for i, number in ipairs(numbers) do
    local is_current = scores[i] and delivery_of(details[i]) == (x.deliveries[i] or '0')
    answers[i] = '0'
    if not seen[number] and (is_current or (not x.strict[i] and is_alive(i))) then
      seen[number], answers[i] = true, '1'
      local own = tonumber(x.retain_of[i]) or x.retain_all
      local retain = retention(own >= 0 and own)
      local batch = scores[i] and leased or retain > 0 and kept or gone
      local n = #batch.numbers + 1
      batch.numbers[n], batch.ids[n], batch.keys[n], batch.places[n] = number, ids[i], x.keys[i], i
      batch.details[n], batch.known[n], batch.limit_keys[n] = details[i] or false, true, x.limit_keys[i]
      batch.retains[n], batch.results[n] = batch == leased and own or retain, x.results[i] or false
    end
  end

  for i = 1, count do
    if answers[i] == '0' then x.names[i], x.added[i] = nil, nil end
  end
  if next(x.names) or next(x.added) then completions_fire(numbers, x.names, x.results, x.added, true, x.taken > 0) end
  if #leased.numbers > 0 then
    local free_places = next(leased.limit_keys) and begin_leaving(leased.numbers, leased.limit_keys)
    redis.call('ZREM', LEASED, unpack(leased.numbers))
    if free_places then free_places() end
    complete_leased(leased.numbers, leased.ids, leased.keys, -1, leased.retains, leased.results, release_keys,
      leased.details)
  end
  -- An earlier execution may have taken them out of LEASED, and have died before it freed their places.
  for _, batch in ipairs({ gone, kept }) do
    local free_places = next(batch.limit_keys) and begin_leaving(batch.numbers, batch.limit_keys)
    if free_places then free_places() end
  end
  if has_events() then note_events('c', gone.numbers, gone.ids, gone.details, 1) end
  if #gone.numbers > 0 then delete_all_of(gone.numbers, gone.ids, gone.known, gone.details, gone.keys) end
  -- Of a ready item, an entry of a ready list is left, so it is copied. The client limits how much of data a call
  -- names. A script that died half-way may have left an id without an item.
  local late, items, over, moved = new_batch(), {}, new_batch(), {}
  if #kept.numbers > 0 then
    local times = {}
    for _, set in ipairs({ DELAYED, DEAD, HELD, EXPIRIES }) do times[set] = redis.call('ZMSCORE', set, unpack(kept.numbers)) end
    local owns = x.taken > 0 and find_owned(kept.keys, kept.numbers) or {}
    for n, record in ipairs(redis.call('HMGET', ITEMS, unpack(kept.numbers))) do
      local number, dead, at = kept.numbers[n], times[DEAD][n], #items + 1
      -- The unique key of an item that has ended is another one's, perhaps. An item that was leased until now has not
      -- expired; if that is not known, the key tells.
      local is_over = dead or has_passed(times[EXPIRIES][n]) and not owns[n]
      if not record then
        answers[kept.places[n]] = '0'
      else
        for name, values in pairs(kept) do late[name][at] = values[n] end
        if is_over then over.numbers[#over.numbers + 1], over.keys[#over.numbers + 1] = number, kept.keys[n] end
        local details_of = unpack_details(kept.details[n])
        items[at] = { number = number, id = kept.ids[n], record = is_over and without_key(record) or record,
          x = details_of, priority = details_of.priority, delayed = times[DELAYED][n], dead = dead, held = times[HELD][n],
          limit_key = kept.limit_keys[n] }
      end
    end
  end
  if #items > 0 then
    make_extended(redis.call('HGET', META, 'format')) -- plain scripts must know no retained item
    release_keys(over.keys, over.numbers)
    renumber(items, salt_of_call(), 'c')
    for n, item in ipairs(items) do moved[late.numbers[n]], late.numbers[n] = item.number, item.number end
    retain_items(COMPLETED, late.numbers, late.retains, late.results)
  end
  -- All of them have counted as ready.
  if x.taken > 0 then redis.call('HINCRBY', META, 'gone:' .. x.priority, text(-x.taken)) end
  if #gone.numbers + #items > 0 then redis.call('HINCRBY', META, 'completed', text(#gone.numbers + #items)) end
  report_endings('c', gone.ids)
  report_endings('C', late.ids)
  return table.concat(answers), moved
end
