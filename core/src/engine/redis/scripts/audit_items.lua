-- Checks some stored items, and mends damage that shows in the item itself.
-- KEYS  see parts/keys.lua, up to DEAD
-- ARGV  [1] cursor, [2] how many entries to skip there, [3] at most how many to check, [4] 1 to mend, 0 to
--       check, [5] longest lease, [6] longest delay, in ms, [7] `large` before the sizes of large records were
--       added up ('' if there was none): [3] takes account of these, but not of records added since
-- Reply [1] next cursor and [2] how many entries to skip there, [3] how many were checked, [4] number and
--       delivery of those that are not leased, delayed or dead, so must be ready, [5] findings: damage,
--       number, 1 if mended
local mend = ARGV[4] == '1'
local meta = redis.call('HMGET', META, 'last', 'large', 'largest')
local last, large = meta[1] and count_of(meta[1]) or 0, meta[2] and count_of(meta[2]) or 0
local largest = tonumber(meta[3]) or 0
local most = tonumber(ARGV[3])
if (meta[2] or '') ~= ARGV[7] then most = math.min(most, math.max(1, math.floor(MAX_REPLY / math.max(1, largest)))) end
local page = redis.call('HSCAN', ITEMS, ARGV[1], 'COUNT', most)
local from, to, cursor, skip = part_of(page, ARGV[2], ARGV[3], ARGV[1])
local numbers, records, candidates, findings = {}, {}, {}, {}
for i = from, to, 2 do
  numbers[#numbers + 1], records[#records + 1] = page[2][i], page[2][i + 1]
end
if #numbers == 0 then return { cursor, skip, 0, candidates, findings } end

local function found(damage, number, mended)
  for _, value in ipairs({ damage, number, mended and 1 or 0 }) do findings[#findings + 1] = value end
end
-- Collects what is to be mended, so that each key is written once.
local writes = {}
local function write(command, key, ...)
  if not mend then return end
  local name = command .. key
  writes[name] = writes[name] or { command, key, {} }
  for _, value in ipairs({ ... }) do table.insert(writes[name][3], value) end
end

local function id_of(record)
  local length = #record >= 2 and struct.unpack('>I2', record) or 0
  return length > 0 and #record >= 2 + length and string.sub(record, 3, 2 + length)
end
local ids, id_places = {}, {}
for i, record in ipairs(records) do
  local id = id_of(record)
  if id then
    ids[#ids + 1], id_places[#id_places + 1] = id, i
  else
    found('bad_record', numbers[i], false)
  end
end
for n, owner in ipairs(#ids > 0 and redis.call('HMGET', IDS, unpack(ids)) or {}) do
  local id, number = ids[n], numbers[id_places[n]]
  if owner ~= number then
    -- If it is too much to read now, the damage is reported, and the next deep clean mends it.
    local free = not owner or not id_matches(id, owner, bytes_read > 0 and math.max(0, MAX_REPLY - bytes_read))
    if free then write('HSET', IDS, id, number) end
    found('lost_id', number, free and mend)
  end
end

local details, states = redis.call('HMGET', DETAILS, unpack(numbers)), {}
for i, key in ipairs({ LEASED, DELAYED, DEAD }) do states[i] = redis.call('ZMSCORE', key, unpack(numbers)) end

local function check_time(key, number, score, longest)
  if tonumber(score) <= now + longest + 60000 then return end
  write('ZADD', key, text(now), number)
  found('bad_time', number, mend)
end

for i, number in ipairs(numbers) do
  local size = #records[i] > LARGE_RECORD and #records[i] or 0
  local count = count_of(number) or 0
  local wrong = count > last or size > largest or (size > 0 and count > large)
  if count > last then
    last = count
    write('HSET', META, 'last', number)
  end
  if size > 0 and count > large then
    large = count
    write('HSET', META, 'large', number)
  end
  if size > largest then
    largest = size
    write('HSET', META, 'largest', text(size))
  end
  if wrong then found('bad_count', number, mend) end

  local packed = details[i]
  local x = unpack_details(packed)
  if x.unreadable or x.size ~= size then
    -- Unreadable details get a delivery that no lease has had, so that no lease is current.
    x.size = size
    if mend then packed = pack_details(x) end
    write('HSET', DETAILS, number, packed)
    found('bad_details', number, mend)
  end
  local leased, delayed, dead = states[1][i], states[2][i], states[3][i]
  if leased then check_time(LEASED, number, leased, ARGV[5])
  elseif delayed then check_time(DELAYED, number, delayed, ARGV[6])
  elseif not dead then
    candidates[#candidates + 1] = number
    candidates[#candidates + 1] = delivery_of(packed)
  end
  if (leased and (delayed or dead)) or (delayed and dead) then
    if leased then write('ZREM', DELAYED, number) end
    write('ZREM', DEAD, number)
    found('several_states', number, mend)
  end
end
for _, call in pairs(writes) do
  local command, key, values = unpack(call)
  if command == 'HSET' then redis.call('HSET', key, unpack(values))
  elseif command == 'ZADD' then redis.call('ZADD', key, unpack(values))
  else redis.call('ZREM', key, unpack(values)) end
end
return { cursor, skip, #numbers, candidates, findings }
