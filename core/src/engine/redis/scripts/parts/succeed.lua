-- Deletes items that their successors replace, whatever state the ends of their leases have left them in. Those that were
-- completed or cancelled and are not retained are gone already.
local function replace_by_successors(successors, moved)
  local their_ids, numbers, ids, other_ids, known = {}, {}, {}, {}, {}
  for n, one in ipairs(successors) do their_ids[n] = one.leased_id end
  for n, number in ipairs(redis.call('HMGET', IDS, unpack(their_ids))) do
    local one = successors[n]
    if number and number == (moved[one.leased] or one.leased) then
      local at = #numbers + 1
      numbers[at], ids[at], known[at] = number, one.leased_id, true
      other_ids[at] = one.id ~= one.leased_id and one.leased_id
    end
  end
  if #numbers == 0 then return end
  local details = redis.call('HMGET', DETAILS, unpack(numbers))
  if has_events() then note_events('p', numbers, { unpack(ids) }) end
  fire_replacements(numbers)
  delete_all_of(numbers, ids, known, details, keys_of(numbers, details))
  redis.call('HINCRBY', META, 'replaced', #numbers)
  report_endings('r', other_ids)
end

-- Adds the successors of those of these items that are no longer leased, at the end of the step that has ended their leases.
-- No other item can be in their way: add.lua has kept their ids and unique keys free.
local function succeed(numbers, moved)
  local all, successors, new = find_successors(numbers) or {}, {}, {}
  for n, one in ipairs(all) do new[n] = one.number end
  if #all == 0 then return end
  local details, ended = redis.call('HMGET', DETAILS, unpack(new)), {}
  for n, one in ipairs(all) do
    one.packed, ended[n] = details[n], one.leased
  end
  for n, deadline in ipairs(redis.call('ZMSCORE', LEASED, unpack(ended))) do
    if not deadline and all[n].packed then successors[#successors + 1] = all[n] end
  end
  successors, new = confirmed(successors), {}
  if #successors == 0 then return end
  for n, one in ipairs(successors) do new[n] = one.number end
  replace_by_successors(successors, moved)

  local moves, changed, ids, stored_ids, owners, timers, expiries, soonest, first_due =
    new_moves(), {}, {}, {}, {}, {}, {}, nil, nil
  for n, one in ipairs(successors) do
    local x, delay = unpack_details(one.packed), delay_of(one.delay)
    x.since = now + delay
    changed[2 * n - 1], changed[2 * n] = one.number, pack_details(x)
    stored_ids[n], ids[2 * n - 1], ids[2 * n] = one.id, one.id, one.number
    if delay > 0 then
      moves.at(DELAYED, x.since, one.number)
      first_due = math.min(first_due or x.since, x.since)
    else
      moves.to_back(x.priority, one.number)
    end
    soonest = math.min(soonest or x.since, x.since)
    if one.expires_in > 0 then
      expiries[#expiries + 1] = text(now + one.expires_in)
      expiries[#expiries + 1] = one.number
    end
    if one.key then
      owners[#owners + 1] = one.key
      owners[#owners + 1] = one.number
      if one.unique_for > 0 then
        timers[#timers + 1] = text(now + one.unique_for)
        timers[#timers + 1] = one.key
      end
    end
  end
  if has_events() then note_events('a', new, stored_ids) end
  redis.call('HSET', DETAILS, unpack(changed))
  if #expiries > 0 then redis.call('ZADD', EXPIRIES, unpack(expiries)) end
  if #owners > 0 then redis.call('HSET', UNIQUES, unpack(owners)) end
  if #timers > 0 then redis.call('ZADD', TIMERS, 'GT', unpack(timers)) end
  redis.call('HSET', IDS, unpack(ids))
  forget_successors(successors)
  moves.write()
  redis.call('HINCRBY', META, 'added', #new)
  local meta = redis.call('HMGET', META, 'waiting', 'watched')
  notify_workers(meta[1], soonest)
  if first_due then notify_cleaner(meta[2], first_due) end
  return true
end
