-- Moves due and expired items, then takes items for the calls that wait. The items are in the lists of
-- parts/take.lua. Returns ms until the next item is due or expires, a pause ends, or the caller is to look whether the
-- rate allows a lease, or a schedule is due (-1: nothing is; 0: ask again now; -2 - 2 ms: a schedule is due, which the caller
-- processes; -3 - 2 ms: it is to forward what the outbox has), or an error for a queue that this script cannot change.
-- ARGV[at]  poll interval: how long (ms) the caller waits before it asks again if there are too few items,
--           0 if it does not wait; then to ARGV[to] groups of: how many items, duration in ms. A caller that
--           waits and wants none wants to know whether there are any
-- touched   how many items the script has handled before; half of the rest of 1,000 is for moving
local function lease(at, to, touched)
  local poll_interval, wanted = tonumber(ARGV[at]), 0
  for i = at + 1, to, 2 do wanted = wanted + tonumber(ARGV[i]) end
  local watches = wanted == 0 and poll_interval > 0
  local meta = redis.call('HMGET', META, 'paused', 'waiting', 'leased', 'watched', 'format', 'settings', 'attached')
  local paused, waiting = pause_end(meta[1]), tonumber(meta[2]) or 0
  local refused = refusal(meta[5])
  if refused then return refused end
  if use_settings then use_settings(meta[6], meta[7]) end
  local due = next_due()
  if due and due <= now then
    local promoted, expired = move_due(math.floor((1000 - touched) / 4))
    touched = touched + promoted + expired
    due = next_due()
  end
  if sweep_if_due then sweep_if_due(meta[6]) end
  if paused and paused < (due or math.huge) then due = paused end
  local tick, is_to_forward
  if next_tick then tick, is_to_forward = next_tick() end
  local is_to_tick = tick and tick <= now
  -- If the caller cannot process it, another one does in a second.
  if is_to_tick or is_to_forward then tick = is_to_tick and now + 1000 or math.min(tick or math.huge, now + 1000) end
  if tick and tick < (due or math.huge) then due = tick end

  -- Held items whose keys have got more places, or whose rates allow another lease.
  if use_keys then use_keys() end
  local raised = open_raised and not paused and key_step.raised and open_raised(100)
  local is_timed = open_in_time and not paused and meta[6] and string.find(meta[6], 'key_rate=', 1, true)
  if is_timed then open_in_time() end
  local allowed = rates and not paused and rates.reserve(wanted) or wanted
  local more = not paused and take(at, allowed, touched)
  local got = #numbers
  if got > 0 then
    redis.call('HSET', META, 'leased', text((meta[3] or 0) + got - double_count))
    if not due or soonest < due then due = soonest end
    notify_cleaner(meta[4], soonest)
  end
  if more and (waiting > now or got < wanted or watches) then
    more = redis.call('EXISTS', unpack(KEYS, READY, READY + 9)) > 0 or is_open and is_open()
  end
  if raised then more = true end
  -- A caller that does not wait tells the others.
  local opens_key = is_timed and next_opening()
  if opens_key and opens_key <= now then more = true end
  if opens_key and opens_key < (due or math.huge) then due = opens_key end
  local opens = rates and rates.settle(got - double_count, more)
  -- Who wants no item may have had the token for a time that others do not know.
  if more and not opens then
    notify_workers(waiting, now)
  elseif got > 0 or due and (wanted == 0 and not watches or is_timed and key_step.timed) then
    notify_workers(waiting, due)
  end
  if more and opens then
    more = false
    -- A caller that has leased something waits behind the others.
    local promise = (got < wanted or watches) and poll_interval > 0 and now + poll_interval or 0
    local is_to_look = rates.is_to_look(opens, got == 0 and promise > 0, math.max(waiting, promise))
    if is_to_look and (not due or opens < due) then due = opens end
  end

  local look = due and math.max(0, due - now) or -1
  if more and (got < wanted or watches) then look = 0 end
  if (got < wanted or watches) and poll_interval > 0 then
    local promise = now + poll_interval
    if look >= 0 then promise = math.min(promise, now + look) end
    if promise > waiting then redis.call('HSET', META, 'waiting', text(promise)) end
    if not meta[5] then
      redis.call('PEXPIRE', META, DAY)
      redis.call('PEXPIRE', LANES, DAY)
    end
  end
  if is_to_tick or is_to_forward then return -2 - 2 * look - (is_to_tick and 0 or 1) end
  return look
end

-- Takes the items that an earlier execution of the operation has leased, if they are still leased by it.
-- `names`: as in `saved`.
local function take_saved(names)
  local named, deliveries = {}, {}
  for number, delivery in string.gmatch(names, '([^ :]+):?(%d*)') do
    named[#named + 1], deliveries[#deliveries + 1] = number, delivery == '' and '0' or delivery
  end
  if #named == 0 then return end
  local known, leased = redis.call('HMGET', DETAILS, unpack(named)), redis.call('ZMSCORE', LEASED, unpack(named))
  local mine, found = {}, {}
  for i, number in ipairs(named) do
    if leased[i] and delivery_of(known[i]) == deliveries[i] then mine[#mine + 1] = number end
  end
  if #mine > 0 then
    for i, record in ipairs(redis.call('HMGET', ITEMS, unpack(mine))) do found[mine[i]] = record end
  end
  for i, number in ipairs(named) do append(number, found[number] or '', known[i]) end
end
