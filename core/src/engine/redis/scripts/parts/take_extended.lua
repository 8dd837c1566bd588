-- As parts/take_plain.lua, for extended queues: those of the popped items that have expired are dead instead.
local function take(at, target, touched)
  group, left = at - 1, 0
  local room, look_ahead, died = MAX_REPLY, 1, 0
  local plain, expiring = redis.call('EXISTS', DETAILS) == 0, redis.call('EXISTS', EXPIRIES) == 1
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
      -- The records of those that have expired were read too.
      fits, room = fitting(known, room, #numbers + died == 0 and 1 or 0)
      if fits < #popped then
        put_back(key, popped, fits)
        if fits == 0 then return true end
      end
    end
    local found, seen = redis.call('HMGET', ITEMS, unpack(popped)), #popped
    if expiring then died = died + drop_expired(popped, found, known) end
    if #popped > need then
      keep_only(need, key, popped, found)
    end
    local leases, count = deadlines_for(popped, found)
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
    -- More tombstones, or expired items, may follow: pop twice as many next time.
    if count < seen then look_ahead = math.min(2 * seen, 500) end
    if #numbers + died == 0 then room = MAX_REPLY end
  end
  return true
end
