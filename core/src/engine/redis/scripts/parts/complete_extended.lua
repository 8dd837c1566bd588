-- Completes the items that ARGV[at] to ARGV[to] name, and retains some of them. The arguments are those of
-- parts/complete.lua, perhaps followed by
--   how long the items are retained, in ms (-1: as the settings say), the count of those for which that differs, and
--   for each index and time
--   the count of those with a result, and the results if all have one, else for each index and result
--   the count of those with a unique key, and the keys if all have one, else for each index and key
--   the same of the keys that limit how many items run, and of the names of follow-ups
--   the count of those whose completion adds items, and for each index and what parts/fire.lua reads
-- Returns a string: for each item 1 (true: completed by this call) or 0 (false), perhaps followed
-- by what parts/end_step.lua has; or `~`, before it has done anything: see complete.lua.
local function complete(at, to)
  local has_lists = KEYS[READY + 9]
  if not has_lists and redis.call('EXISTS', SUCCESSORS) == 1 then return '~' end
  local count = tonumber(ARGV[at])
  local first, last = at + 1, at + count
  local place = last + count + 1
  local function read_pairs()
    local values, pair_count = {}, tonumber(ARGV[place])
    for i = place + 1, place + 2 * pair_count, 2 do values[tonumber(ARGV[i])] = ARGV[i + 1] end
    place = place + 2 * pair_count + 1
    return values
  end
  -- One for each, if all have one.
  local function read_values()
    if tonumber(ARGV[place]) ~= count then return read_pairs() end
    place = place + count + 1
    return { unpack(ARGV, place - count, place - 1) }
  end
  local deliveries, strict = read_pairs(), {}
  local strict_end = place + tonumber(ARGV[place])
  for i = place + 1, strict_end do strict[tonumber(ARGV[i])] = true end
  place = strict_end + 1
  local retain_all, retain_of, results, keys, limit_keys, names, added = -1, {}, {}, {}, {}, {}, {}
  if place < to then
    retain_all, place = tonumber(ARGV[place]), place + 1
    retain_of, results, keys, limit_keys = read_pairs(), read_values(), read_values(), read_values()
    names, added = read_values(), read_pairs()
  end

  -- The usual case is that all leases are current. See parts/complete.lua.
  local numbers, ids = { unpack(ARGV, first, last) }, { unpack(ARGV, last + 1, last + count) }
  names = attached_names(numbers, names)
  local details = redis.call('EXISTS', DETAILS) == 1 and redis.call('HMGET', DETAILS, unpack(numbers)) or {}
  local one_by_one, priority = next(strict) ~= nil, nil
  if details[1] ~= nil or next(deliveries) then
    for i = 1, count do
      local own = details[i] and string.sub(details[i], 1, 1) or '0'
      if delivery_of(details[i]) ~= (deliveries[i] or '0') or own ~= (priority or own) then one_by_one = true end
      priority = own
    end
  end
  -- None of these is leased behind the ZREM.
  local free_places = not one_by_one and next(limit_keys) and begin_leaving(numbers, limit_keys)
  local taken = one_by_one and 0 or redis.call('ZREM', LEASED, unpack(numbers))
  if free_places then free_places() end
  if taken == count then
    local together = has_lists and next(names) and not next(added) and note_plain(numbers, names, results)
    if not together and (next(names) or next(added)) then completions_fire(numbers, names, results, added) end
    complete_leased(numbers, ids, keys, retain_all, retain_of, results, release_owned, details)
    -- What successors have replaced may have left notes as well: distribute.lua reads them.
    local followed = has_lists and follow(numbers)
    if end_step.deferred ~= '' and not followed and has_lists
      and not (together and add_plain_follow_ups(names, results, count)) then
      add_at_once(numbers, names, results, added, together)
    end
    return string.rep('1', count) .. end_step.deferred
  end
  local answers, moved = complete_late(numbers, ids, { deliveries = deliveries, strict = strict, details = details, keys = keys,
    limit_keys = limit_keys, names = names, added = added,
    retain_all = retain_all, retain_of = retain_of, results = results, taken = taken,
    priority = priority or '0' })
  if has_lists then follow(numbers, moved) end
  return answers .. end_step.deferred
end
