-- Makes items ready that are in no state, because a script died half-way. The caller has read all ready
-- lists; an item that was used since has another delivery or another state. An item whose add was not acknowledged
-- is deleted instead: its id was added again, or it was never leased and its unique key is somebody else's.
-- KEYS  see parts/keys.lua, all
-- ARGV  [1] 1 to mend, 0 to check, then pairs of number and delivery (at most 100)
-- Reply [1] how many pairs were looked at (bounded by bytes: go on with the rest), [2] the strays
local strays, numbers, looked, room = {}, {}, 0, MAX_REPLY
local mend = ARGV[1] == '1'
local refused = mend and refusal(redis.call('HGET', META, 'format'))
if refused then return refused end
for i = 2, #ARGV, 2 do numbers[#numbers + 1] = ARGV[i] end
local details, states = redis.call('HMGET', DETAILS, unpack(numbers)), {}
for _, key in ipairs(SETS) do
  for i, score in ipairs(redis.call('ZMSCORE', key, unpack(numbers))) do states[i] = states[i] or score end
end
local unique_keys, wanted, owners = redis.call('HMGET', OWNED, unpack(numbers)), {}, {}
for _, key in ipairs(unique_keys) do
  if key then wanted[#wanted + 1] = key end
end
for n, owner in ipairs(#wanted > 0 and find_owners(wanted) or {}) do owners[wanted[n]] = owner end

local changed, mended, doomed, lost_ids, lost_keys, moves = {}, {}, {}, {}, {}, new_moves()
for i, number in ipairs(numbers) do
  if room - bytes_read <= 0 then break end
  looked = looked + 1
  local record = redis.call('HGET', ITEMS, number)
  room = room - (record and #record or 0)
  local id = id_of(record)
  -- An unreadable item would be leased to nobody.
  if id and not states[i] and delivery_of(details[i]) == ARGV[1 + 2 * i] then
    strays[#strays + 1] = number
    local owner, x = redis.call('HGET', IDS, id), unpack_details(details[i])
    local key_taken = unique_keys[i] and is_taken(owners[unique_keys[i]], number)
    local is_new = x.deliveries == 0 and not x.sections.A
    if mend and ((owner and owner ~= number and id_matches(id, owner)) or (key_taken and is_new)) then
      doomed[#doomed + 1] = number
      if owner == number then lost_ids[#lost_ids + 1] = id end
    elseif mend then
      if key_taken then lost_keys[#lost_keys + 1] = number end
      -- No earlier lease must be current again.
      x.deliveries, x.since = x.deliveries + 1, now
      mended[#mended + 1] = number
      changed[#changed + 1] = number
      changed[#changed + 1] = pack_details(x)
      moves.to_front(x.priority, number)
    end
  end
end
if #doomed > 0 then
  redis.call('HDEL', ITEMS, unpack(doomed))
  for _, key in ipairs({ DETAILS, RETAINS, OWNED, ENDED, RESULTS }) do redis.call('HDEL', key, unpack(doomed)) end
  if #lost_ids > 0 then redis.call('HDEL', IDS, unpack(lost_ids)) end
end
if #lost_keys > 0 then redis.call('HDEL', OWNED, unpack(lost_keys)) end
if #changed > 0 then
  -- It has not ended after all.
  for _, key in ipairs({ ENDED, RESULTS }) do redis.call('HDEL', key, unpack(mended)) end
  redis.call('HSET', DETAILS, unpack(changed))
  moves.write()
  notify_workers(redis.call('HGET', META, 'waiting'), now)
end
return { looked, strays }
