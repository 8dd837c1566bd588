-- Looks at some stored items, and mends what can be told from the item alone.
-- KEYS  see parts/keys.lua, up to DEAD
-- ARGV  [1] cursor, [2] about how many, [3] 1 to mend, 0 to look, [4] longest lease, [5] longest delay, in ms
-- Reply [1] next cursor, [2] how many were seen, [3] number and delivery of those that are not
--       leased, delayed or dead, so must be ready, [4] findings: damage, number, 1 if mended
local mend = ARGV[3] == '1'
local meta = redis.call('HMGET', META, 'largest', 'last')
local largest, last = tonumber(meta[1]) or 0, meta[2] and count_of(meta[2]) or 0
local chunk = math.min(tonumber(ARGV[2]), math.max(1, math.floor(16777216 / math.max(1, largest))))
local page = redis.call('HSCAN', ITEMS, ARGV[1], 'COUNT', chunk)
local candidates, findings, seen = {}, {}, 0

local function found(damage, number, mended)
  for _, value in ipairs({ damage, number, mended and 1 or 0 }) do findings[#findings + 1] = value end
end

local function check_id(number, record)
  local length = #record >= 2 and struct.unpack('>I2', record)
  if not length or length == 0 or #record < 2 + length then return found('bad_record', number, false) end
  local id = string.sub(record, 3, 2 + length)
  local owner = redis.call('HGET', IDS, id)
  if owner == number then return end
  local free = not owner or not leads_to(id, owner)
  if free and mend then redis.call('HSET', IDS, id, number) end
  found('lost_id', number, free and mend)
end

local function check_time(key, number, score, longest)
  if tonumber(score) <= now + longest + 60000 then return end
  if mend then redis.call('ZADD', key, text(now), number) end
  found('bad_time', number, mend)
end

for i = 1, #page[2], 2 do
  local number, record = page[2][i], page[2][i + 1]
  seen = seen + 1
  check_id(number, record)
  local count = count_of(number) or 0
  if #record > largest or count > last then
    largest = math.max(largest, #record)
    if mend then redis.call('HSET', META, 'largest', text(largest)) end
    if count > last then
      last = count
      if mend then redis.call('HSET', META, 'last', number) end
    end
    found('bad_count', number, mend)
  end
  local packed = redis.call('HGET', EXTRA, number)
  if packed and not string.match(packed, '^%d:%d+:%d+:%d+:%d+:%d:%d+:') then
    if mend then
      -- A delivery that no lease has had, so that none of them is current from now on.
      local x = unpack_extra(nil)
      x.deliveries = now
      packed = pack_extra(x)
      redis.call('HSET', EXTRA, number, packed)
    end
    found('bad_details', number, mend)
  end
  local leased = redis.call('ZSCORE', LEASED, number)
  local delayed = redis.call('ZSCORE', DELAYED, number)
  local dead = redis.call('ZSCORE', DEAD, number)
  if leased then check_time(LEASED, number, leased, ARGV[4])
  elseif delayed then check_time(DELAYED, number, delayed, ARGV[5])
  elseif not dead then
    candidates[#candidates + 1] = number
    candidates[#candidates + 1] = delivery_of(packed)
  end
  if (leased and (delayed or dead)) or (delayed and dead) then
    if mend then
      if leased then redis.call('ZREM', DELAYED, number) end
      redis.call('ZREM', DEAD, number)
    end
    found('several_states', number, mend)
  end
end
return { page[1], seen, candidates, findings }
