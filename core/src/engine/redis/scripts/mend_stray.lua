-- Makes items ready that are in no state, because a script died half-way. The caller has read all ready
-- lists; an item that was used since has another delivery or another state.
-- KEYS  see parts/keys.lua, all
-- ARGV  [1] 1 to mend, 0 to check, then pairs of number and delivery (at most 100)
-- Reply [1] how many pairs were looked at (bounded by bytes: go on with the rest), [2] the strays
local strays, numbers, looked, room = {}, {}, 0, MAX_REPLY
local mend = ARGV[1] == '1'
for i = 2, #ARGV, 2 do numbers[#numbers + 1] = ARGV[i] end
local details, states = redis.call('HMGET', DETAILS, unpack(numbers)), {}
for _, key in ipairs({ LEASED, DELAYED, DEAD }) do
  for i, score in ipairs(redis.call('ZMSCORE', key, unpack(numbers))) do states[i] = states[i] or score end
end
local changed, doomed, moves = {}, {}, new_moves()
for i, number in ipairs(numbers) do
  if room - bytes_read <= 0 then break end
  looked = looked + 1
  local record = redis.call('HGET', ITEMS, number)
  room = room - (record and #record or 0)
  local length = record and #record >= 2 and struct.unpack('>I2', record) or 0
  -- An unreadable item would be leased to nobody.
  local readable = length > 0 and #record >= 2 + length
  if readable and not states[i] and delivery_of(details[i]) == ARGV[1 + 2 * i] then
    strays[#strays + 1] = number
    local id = string.sub(record, 3, 2 + length)
    local owner = redis.call('HGET', IDS, id)
    if mend and owner and owner ~= number and id_matches(id, owner) then
      -- Its id was added again, so the add of this item was not acknowledged.
      doomed[#doomed + 1] = number
    elseif mend then
      local x = unpack_details(details[i])
      -- No earlier lease must be current again.
      x.deliveries, x.since = x.deliveries + 1, now
      changed[#changed + 1] = number
      changed[#changed + 1] = pack_details(x)
      moves.to_front(x.priority, number)
    end
  end
end
if #doomed > 0 then
  redis.call('HDEL', ITEMS, unpack(doomed))
  redis.call('HDEL', DETAILS, unpack(doomed))
end
if #changed > 0 then
  redis.call('HSET', DETAILS, unpack(changed))
  moves.write()
  notify_workers(redis.call('HGET', META, 'waiting'), now)
end
return { looked, strays }
