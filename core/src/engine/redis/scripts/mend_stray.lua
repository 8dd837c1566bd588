-- Makes items ready that are in no state, because a script died half-way. The caller has read all ready
-- lists; an item that was used since has another delivery or another state. An item whose add was not acknowledged
-- is deleted instead: its id was added again, or leads to nothing while its unique key is another item's.
-- KEYS  see parts/keys.lua
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

local records, own_ids, keys, named, owners = {}, {}, {}, {}, {}
for i, number in ipairs(numbers) do
  if room <= 0 then break end -- the first one is always read
  local record = redis.call('HGET', ITEMS, number)
  local id, _, key = read_head(record)
  records[i], own_ids[i], keys[i] = record, id, key
  room = room - (record and #record or 0)
  if key then named[#named + 1] = key end
end
for n, owner in ipairs(#named > 0 and find_owners(named) or {}) do owners[named[n]] = owner end

local given, uniques = {}, {}
local changed, mended, doomed, ids, lost_keys, moves = {}, {}, {}, {}, {}, new_moves()
for i, record in ipairs(records) do
  if bytes_read > MAX_REPLY then break end
  looked = looked + 1
  local number, id, key = numbers[i], own_ids[i], keys[i]
  -- An unreadable item would be leased to nobody.
  if id and not states[i] and delivery_of(details[i]) == ARGV[1 + 2 * i] then
    strays[#strays + 1] = number
    local owner, x = redis.call('HGET', IDS, id), unpack_details(details[i])
    local with_key = key and owners[key]
    local key_taken = key and (given[key] or (with_key and with_key.id ~= id and is_taken(with_key, number)))
    local leads = owner and owner ~= number and id_matches(id, owner)
    if mend and (leads or (not owner and key_taken)) then
      doomed[#doomed + 1] = number
    elseif mend then
      if owner ~= number then
        ids[#ids + 1] = id
        ids[#ids + 1] = number
      end
      if key_taken then
        record = without_key(record)
        lost_keys[#lost_keys + 1] = number
        lost_keys[#lost_keys + 1] = record
        x.size = #record > LARGE_RECORD and #record or 0
      elseif key then
        given[key] = true
        uniques[#uniques + 1] = key
        uniques[#uniques + 1] = number
      end
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
  for _, key in ipairs({ DETAILS, RESULTS, ENDED, MARKS }) do
    redis.call('HDEL', key, unpack(doomed))
  end
  redis.call('ZREM', EXPIRIES, unpack(doomed))
end
if #ids > 0 then redis.call('HSET', IDS, unpack(ids)) end
if #uniques > 0 then redis.call('HSET', UNIQUES, unpack(uniques)) end
if #lost_keys > 0 then redis.call('HSET', ITEMS, unpack(lost_keys)) end
if #changed > 0 then
  -- It has not ended after all.
  for _, key in ipairs({ RESULTS, ENDED }) do redis.call('HDEL', key, unpack(mended)) end
  redis.call('HSET', DETAILS, unpack(changed))
  moves.write()
  notify_workers(redis.call('HGET', META, 'waiting'), now)
end
return { looked, strays }
