-- Takes up to `target` items for the groups after ARGV[at]. `touched`: how many items the script has handled
-- before. Returns true if there may be more.
local function take(at, target, touched)
  group, left = at - 1, 0
  local room, look_ahead = MAX_REPLY, 1
  -- Items with a priority or a large record have details. If no item has any, only the first list has
  -- items, and popping from one list costs less than from ten. Tombstones in the others are popped when it
  -- is empty.
  local plain = redis.call('EXISTS', DETAILS) == 0
  while #numbers < target do
    if touched >= 1000 or room <= 0 then return true end
    local need = target - #numbers
    local chunk = math.min(math.max(need, look_ahead), 1000 - touched)
    local popped, key, priority = plain and redis.call('RPOP', KEYS[READY], chunk), KEYS[READY], '0'
    if not popped then
      local reply = redis.call('LMPOP', '10', KEYS[20], KEYS[19], KEYS[18], KEYS[17], KEYS[16], KEYS[15],
        KEYS[14], KEYS[13], KEYS[12], KEYS[11], 'RIGHT', 'COUNT', chunk)
      if not reply then return false end
      key, popped = reply[1], reply[2]
      priority = string.match(key, ':ready:(%d)$') or '0'
    end
    touched = touched + #popped
    local known = not plain and redis.call('HMGET', DETAILS, unpack(popped))
    if known then
      local fits
      fits, room = fitting(known, room, #numbers == 0 and 1 or 0)
      if fits < #popped then
        put_back(key, popped, fits)
        if fits == 0 then return true end
      end
    end
    local found = redis.call('HMGET', ITEMS, unpack(popped))
    if #popped > need then
      keep_only(need, key, popped, found)
    end
    local leases, count = deadlines_for(popped, found)
    local added = add_leases(leases, count)
    if added < count then drop_doubles(popped, found, leases, count - added) end
    if added == #popped and not known and #numbers == 0 then
      numbers, records, saved = popped, found, popped
    else
      for i = 1, #popped do
        if found[i] then append(popped[i], found[i], known and known[i]) end
      end
    end
    if count < #popped then
      redis.call('HINCRBY', META, 'gone:' .. priority, count - #popped)
      -- More tombstones may follow: pop twice as many next time.
      look_ahead = math.min(2 * #popped, 500)
    end
    if #numbers == 0 then room = MAX_REPLY end
  end
  return true
end
