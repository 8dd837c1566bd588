-- Adds the follow-ups of the items that parts/note_plain.lua has noted, as distribute.lua would do it next. Returns false, and
-- has written nothing, if it is not that simple: other notes wait, items wait as successors, an id is in the way or comes
-- twice, a record is large, or something is damaged.
local function add_plain_follow_ups(names, results, count)
  if redis.call('LLEN', DEFERRED) ~= 1 or redis.call('EXISTS', SUCCESSORS) == 1 then return false end
  local byte, sub, pack = string.byte, string.sub, struct.pack
  local all = redis.call('HMGET', FOLLOW_UPS, unpack(names, 1, count))
  local last, waiting, format = unpack(redis.call('HMGET', META, 'last', 'waiting', 'format'))
  if format ~= EXTENDED then return false end
  local numbers = numbers_behind(math.max(last and count_of(last) or 0, (now - YEAR_2026) * 256), count, salt_of_call())
  local ids, fields, records, nested, done, seen = {}, {}, {}, {}, { unpack(names, 1, count) }, {}
  for i = 1, count do
    -- See parts/unpack_items.lua. What is damaged is left to that.
    local packed, number = all[i] or '', numbers[i]
    local high, low = byte(packed, 1, 2)
    local owner_end = 2 + (high or 0) * 256 + (low or 0)
    local from = owner_end + 5 + FIELDS_SIZE
    local id_high, id_low, _, _, trigger_high, trigger_low, one, two, three, four = byte(packed, from - 10, from - 1)
    if not four then return false end
    local at = from + id_high * 256 + id_low
    local id, nested_length, trigger_at = sub(packed, from, at - 1), ((one * 256 + two) * 256 + three) * 256 + four,
      trigger_high * 256 + trigger_low
    if nested_length > 0 then
      local n, behind = #nested, at + NAME
      nested[n + 1], at = sub(packed, at, behind - 1), behind + nested_length
      nested[n + 2] = sub(packed, behind, at - 1)
    end
    if at > #packed or at + trigger_at > #packed + 1 or seen[id] then return false end
    local record = sub(packed, at)
    if trigger_at > 0 then
      local result = byte(names[i]) > IS_PLAIN and results[i] or nil
      if result and #result > MAX_COPIED_RESULT then result = nil end
      done[#done + 1] = names[i] .. 'r'
      record = sub(record, 1, trigger_at) .. pack('>I2', owner_end - 2) .. sub(packed, 3, owner_end)
        .. pack('>I4', result and #result + 1 or 0) .. (result or '') .. sub(record, trigger_at + 1)
    end
    if #record > LARGE_RECORD then return false end
    seen[id], ids[i] = true, id
    fields[2 * i - 1], fields[2 * i], records[2 * i - 1], records[2 * i] = id, number, number, record
  end
  for _, known in ipairs(redis.call('HMGET', IDS, unpack(ids))) do
    if known then return false end
  end

  -- The mark: see parts/reserve_numbers.lua.
  redis.call('HSET', META, 'last', numbers[count])
  redis.call('LPUSH', DEFERRED, '#1 ' .. numbers[1] .. ' ' .. numbers[1])
  redis.call('HINCRBY', META, 'added', text(count))
  if has_events() then note_events('a', numbers, ids) end
  redis.call('HSET', ITEMS, records[1], LONG, unpack(records))
  if #nested > 0 then redis.call('HSET', FOLLOW_UPS, unpack(nested)) end
  redis.call('LTRIM', DEFERRED, 2, -1)
  redis.call('HSET', IDS, fields[1], LONG, unpack(fields))
  redis.call('LPUSH', KEYS[READY], unpack(numbers))
  notify_workers(waiting, now)
  redis.call('HDEL', FOLLOW_UPS, unpack(done))
  end_step.deferred = ''
  return true
end
