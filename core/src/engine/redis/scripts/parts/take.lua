-- Pops ready items, and takes held ones whose keys are open. In a plain queue none is held.

-- Takes up to `target` items for the groups after ARGV[at]. `touched`: how many items the script has handled
-- before. Items that have expired are dead instead, and those whose keys are at their limits are held. Returns true if
-- there may be more.
local function take(at, target, touched)
  group, left = at - 1, 0
  local room, look_ahead, dropped = MAX_REPLY, 1, 0 -- dropped: items that were read, and are dead or held now
  -- Items with a priority or a large record have details. If no item has any, only the first list has
  -- items, and popping from one list costs less than from ten. Tombstones in the others are popped when it
  -- is empty.
  local plain, drop_expired = redis.call('EXISTS', DETAILS) == 0, drops_expired and drops_expired()
  while #numbers < target do
    if touched >= 1000 or room <= 0 then return true end
    local need = target - #numbers
    local chunk = math.min(math.max(need, look_ahead), 1000 - touched)
    -- Held items come before ready ones of their priority.
    local first = first_open and first_open()
    if first == false then return true end
    local open = first and priority_of(first)
    local popped, key, priority = plain and not open and redis.call('RPOP', KEYS[READY], chunk), KEYS[READY], '0'
    if not popped then
      local reply
      if open then
        reply = pop_above(first, chunk, plain)
      else
        reply = redis.call('LMPOP', '10', KEYS[READY + 9], KEYS[READY + 8], KEYS[READY + 7], KEYS[READY + 6],
          KEYS[READY + 5], KEYS[READY + 4], KEYS[READY + 3], KEYS[READY + 2], KEYS[READY + 1], KEYS[READY],
          'RIGHT', 'COUNT', chunk)
        if not reply then return false end
      end
      if reply then
        key, popped = reply[1], reply[2]
        priority = string.match(key, ':ready:(%d)$') or '0'
      end
    end
    if popped then
      local orders = orders_of and orders_of(popped, priority)
      local consumed = #popped -- less those that are put back
      touched = touched + #popped
      local known = not plain and redis.call('HMGET', DETAILS, unpack(popped))
      if known then
        local fits
        -- The records of those that are dead or held were read too.
        fits, room = fitting(known, room, #numbers + dropped == 0 and 1 or 0)
        if fits < #popped then
          put_back(key, popped, fits)
          consumed = fits
          if fits == 0 then return true end
        end
      end
      local found, seen = redis.call('HMGET', ITEMS, unpack(popped)), #popped
      if drop_expired then dropped = dropped + drop_expired(popped, found, known) end
      local keys = find_keys and find_keys(found, #popped)
      if keys then dropped = dropped + hold_blocked(popped, found, known, need, priority, keys, orders) end
      if #popped > need then
        local kept = #popped
        keep_only(need, key, popped, found)
        consumed = consumed - kept + #popped
      end
      if orders then left_front(key_step.fronts, priority, consumed) end
      local leases, count = deadlines_for(popped, found)
      if note_leased then note_leased(popped, found, known, count) end
      local added = add_leases(leases, count)
      if added < count then drop_doubles(popped, found, leases, count - added) end
      if added == seen and not known and #numbers == 0 then
        numbers, records, saved = popped, found, popped
      else
        for i = 1, #popped do
          if found[i] then append(popped[i], found[i], known and known[i]) end
        end
      end
      if count < #popped then redis.call('HINCRBY', META, 'gone:' .. priority, count - #popped) end
      -- More tombstones, or expired or held items, may follow: pop twice as many next time.
      if count < seen then look_ahead = math.min(2 * seen, 500) end
    else
      local seen, died
      seen, room, died = take_open(open, need, 1000 - touched, room, #numbers + dropped == 0, plain, drop_expired)
      touched, dropped = touched + seen, dropped + died
    end
    if #numbers + dropped == 0 then room = MAX_REPLY end
  end
  return true
end
