-- Checks some stored items, and mends damage that shows in the item itself.
-- KEYS  see parts/keys.lua
-- ARGV  [1] cursor, [2] how many entries to skip there, [3] at most how many to check, [4] 1 to mend, 0 to
--       check, [5] longest lease, [6] longest delay or retention, in ms, [7] `large` before the sizes of large records were
--       added up ('' if there was none): [3] takes account of these, but not of records added since
-- Reply [1] next cursor and [2] how many entries to skip there, [3] how many were checked, less the successors that
--       wait, [4] number and delivery of those that are not in any other state, so must be ready, [5] findings: damage,
--       number, 1 if mended
local mend = ARGV[4] == '1'
local meta = redis.call('HMGET', META, 'last', 'large', 'largest', 'format', 'keyed')
local refused = mend and refusal(meta[4])
if refused then return refused end
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

local details, states = redis.call('HMGET', DETAILS, unpack(numbers)), {}
for i, key in ipairs(SETS) do states[i] = redis.call('ZMSCORE', key, unpack(numbers)) end
local expiries = redis.call('ZMSCORE', EXPIRIES, unpack(numbers))

-- The ids and keys of the items, and what has these unique keys.
local own_ids, unique_keys, limit_keys, owner_of, named = {}, {}, {}, {}, {}
for i, record in ipairs(records) do
  local id, _, key, _, limit_key = read_head(record)
  own_ids[i], unique_keys[i], limit_keys[i] = id, key, limit_key
  if key then named[#named + 1] = key end
end
local id_of = {}
for i, number in ipairs(numbers) do id_of[number] = own_ids[i] end
for i, owner in ipairs(#named > 0 and find_owners(named, id_of) or {}) do owner_of[named[i]] = owner end

-- Whether an item with another id has the unique key of this one.
local function has_lost_key(i, id)
  local owner = unique_keys[i] and owner_of[unique_keys[i]]
  return owner and owner.id ~= id and is_taken(owner, numbers[i])
end

-- Successors are in no state, and no id leads to them.
local fields, waits = {}, {}
for i, number in ipairs(numbers) do fields[i] = '<' .. number end
local waited_for = redis.call('HMGET', SUCCESSORS, unpack(fields))
for i, leased in ipairs(waited_for) do waited_for[i] = leased or '' end
for _, one in ipairs(find_successors(waited_for) or {}) do waits[one.number] = true end
local checked = #numbers -- without those that wait

local ids, id_places, leads = {}, {}, {} -- leads: the id of this item leads to it
for i = 1, #records do
  local id = own_ids[i]
  if id then
    ids[#ids + 1], id_places[#id_places + 1] = id, i
  else
    found('bad_record', numbers[i], false)
  end
end
for n, owner in ipairs(#ids > 0 and redis.call('HMGET', IDS, unpack(ids)) or {}) do
  local id, i = ids[n], id_places[n]
  local number, placed = numbers[i], false
  leads[i] = owner == number
  for set = 1, #SETS do placed = placed or states[set][i] end
  -- The add of an item with a unique key that is in no state was perhaps not acknowledged, and its key is another
  -- one's. That shows when all others have got their keys: mend_stray.lua decides.
  waits[number] = waits[number] and not leads[i] and not placed
  if waits[number] then
    leads[i], checked = false, checked - 1
  elseif owner ~= number and not placed and unique_keys[i] then
    found('lost_id', number, false)
  elseif owner ~= number then
    -- If it is too much to read now, the damage is reported, and the next deep clean mends it.
    local free = not owner or not id_matches(id, owner, bytes_read > 0 and math.max(0, MAX_REPLY - bytes_read))
    if free then write('HSET', IDS, id, number) end
    leads[i] = free
    found('lost_id', number, free and mend)
  end
end

local function check_time(key, number, score, longest)
  if tonumber(score) <= now + longest + 60000 then return end
  write('ZADD', key, text(now), number)
  found('bad_time', number, mend)
end

-- The places of the keys of these items, and the entries of LINES that held ones must have.
local named_keys, places, entries, order = {}, {}, {}, nil
for i = 1, #numbers do
  local key = limit_keys[i]
  if key and not places[key] then named_keys[#named_keys + 1], places[key] = key, true end
end
if #named_keys > 0 then places = read_places(named_keys) end
if #named_keys > 0 and not meta[5] then
  write('HSET', META, 'keyed', '1')
  found('bad_count', numbers[1], mend)
end

local function check_leased_key(key, number)
  local place = places[key]
  if has_place(place, number) then return end
  take_place(place, number)
  found('bad_key', number, mend)
end

-- A rank that cannot be is replaced. The flag of the key comes with it, and its entry of LINES, if it has none.
local function check_held_key(key, number, priority, score)
  local place, rank = places[key], tonumber(score)
  local valid = math.abs(rank) <= 10 * RANKS and rank % 1 == 0
  if not valid then
    order = (order or read_order()) + 1
    rank = rank_of(priority, order)
    write('ZADD', HELD, text(rank), number)
    write('HSET', META, 'holds', text(order))
  end
  local entry = entry_of(key, rank, number)
  local late = not place.flag or place.flag > rank
  flag(place, rank)
  entries[#entries + 1] = { number = number, entry = entry, wrong = late or not valid }
end

local score_of, given = {}, {} -- given: the keys that an item has got back
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
  local key_of, id_of_key = size > 0 and limit_keys[i] or nil, size > 0 and unique_keys[i] and own_ids[i] or nil
  local lacks = size > 0 and (x.sections.K ~= key_of or id_of_key and x.sections.I ~= id_of_key)
  if x.unreadable or x.size ~= size or lacks then
    -- Unreadable details get a delivery that no lease has had, so that no lease is current.
    x.size, x.sections.K, x.sections.I = size, key_of or x.sections.K, id_of_key or x.sections.I
    if mend then packed = pack_details(x) end
    write('HSET', DETAILS, number, packed)
    found('bad_details', number, mend)
  end
  local state, several
  for n, set in ipairs(SETS) do
    local score = states[n][i]
    if score and state then
      write('ZREM', set, number)
      several = true
    elseif score then
      state, score_of[i] = set, score
      if set ~= DEAD and set ~= HELD then check_time(set, number, score, set == LEASED and ARGV[5] or ARGV[6]) end
    end
  end
  if several then found('several_states', number, mend) end
  if state == HELD and own_ids[i] and not limit_keys[i] then
    -- Nothing can be held without a key. It is a stray.
    write('ZREM', HELD, number)
    found('bad_key', number, mend)
    state = nil
  elseif state == HELD and limit_keys[i] then
    check_held_key(limit_keys[i], number, x.priority, score_of[i])
  elseif state == LEASED and limit_keys[i] then
    check_leased_key(limit_keys[i], number)
  end
  local key, id = unique_keys[i], own_ids[i]
  local over = (state == COMPLETED or state == CANCELLED) and tonumber(score_of[i]) <= now
  local expired = state ~= LEASED and has_passed(expiries[i])
  if key and leads[i] and state ~= DEAD and not over and not expired then
    local owner = owner_of[key]
    if given[key] or has_lost_key(i, id) then
      -- No earlier lease must be current: its completion would release the key.
      local record = without_key(records[i])
      x.deliveries, x.size = x.deliveries + 1, #record > LARGE_RECORD and #record or 0
      write('HSET', ITEMS, number, record)
      if mend then packed = pack_details(x) end
      write('HSET', DETAILS, number, packed)
      found('bad_unique', number, mend)
    elseif not (owner and owner.number == number) then
      given[key] = true
      write('HSET', UNIQUES, key, number)
      found('bad_unique', number, mend)
    end
  end
  if not state and not waits[number] then
    candidates[#candidates + 1] = number
    candidates[#candidates + 1] = delivery_of(packed)
  end
end
if #entries > 0 then
  local named_entries = {}
  for n, one in ipairs(entries) do named_entries[n] = one.entry end
  for n, score in ipairs(redis.call('ZMSCORE', LINES, unpack(named_entries))) do
    if not score then write('ZADD', LINES, '0', entries[n].entry) end
    if not score or entries[n].wrong then found('bad_key', entries[n].number, mend) end
  end
end
if mend then write_places(named_keys, places) end
for _, call in pairs(writes) do
  local command, key, values = unpack(call)
  if command == 'HSET' then redis.call('HSET', key, unpack(values))
  elseif command == 'HDEL' then redis.call('HDEL', key, unpack(values))
  elseif command == 'ZADD' then redis.call('ZADD', key, unpack(values))
  else redis.call('ZREM', key, unpack(values)) end
end
return { cursor, skip, checked, candidates, findings }
