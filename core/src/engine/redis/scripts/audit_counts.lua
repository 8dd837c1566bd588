-- Compares the count of tombstones of one priority with its ready list (exactly if the list has up to 900
-- entries, else only roughly), and checks that format number and incarnation exist.
-- KEYS  see parts/keys.lua
-- ARGV  [1] priority, [2] 1 to mend, 0 to check
-- Reply what was wrong, as text
local refused = ARGV[2] == '1' and refusal(redis.call('HGET', META, 'format'))
if refused then return refused end
local wrong = {}
local function expect(field, found, expected)
  if found == expected then return end
  wrong[#wrong + 1] = field .. ' is ' .. tostring(found) .. ', not ' .. tostring(expected)
  if ARGV[2] == '1' then redis.call('HSET', META, field, expected) end
end

local field, key = 'gone:' .. ARGV[1], KEYS[READY + ARGV[1]]
local gone, length = tonumber(redis.call('HGET', META, field)) or 0, redis.call('LLEN', key)
if length <= 900 then
  local tombstones = 0
  for _, number in ipairs(redis.call('LRANGE', key, 0, -1)) do
    if redis.call('HEXISTS', ITEMS, number) == 0 then tombstones = tombstones + 1 end
  end
  expect(field, gone, tombstones)
else
  expect(field, gone, math.min(math.max(gone, 0), length))
end
local meta = redis.call('HMGET', META, 'format', 'incarnation', 'last')
if redis.call('HLEN', ITEMS) > 0 and not (meta[1] and meta[2]) then
  wrong[#wrong + 1] = 'format or incarnation is missing'
  -- The last number is unique to this queue.
  if ARGV[2] == '1' and meta[3] and not refusal(meta[1]) then
    make_queue(meta[3], meta[1] or EXTENDED) -- it may have been
  end
end
return wrong
