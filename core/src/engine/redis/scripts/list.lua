-- Looks at items of one state: ready in the order of leasing, the others by time.
-- KEYS  see parts/keys.lua, all
-- ARGV  [1] state, [2] at most how many (1,000), [3] and [4] where to go on: for ready priority and
--       offset from the front, else score and number of the last item seen; '' to begin
-- Reply server time, the next [3] and [4] ('' at the end), then per item: number, record, extra ('' if none), score ('' if ready)
local limit = tonumber(ARGV[2])
local largest = math.max(1, tonumber(redis.call('HGET', META, 'largest')) or 1)
local chunk = math.min(limit, math.max(1, math.floor(16777216 / largest)))
local reply = { text(now), '', '' }

local function show(numbers, scores)
  if #numbers == 0 then return end
  local records, extras = redis.call('HMGET', ITEMS, unpack(numbers)), redis.call('HMGET', EXTRA, unpack(numbers))
  for i, number in ipairs(numbers) do
    if records[i] then
      for _, value in ipairs({ number, records[i], extras[i] or '', scores and scores[i] or '' }) do
        reply[#reply + 1] = value
      end
    end
  end
end

if ARGV[1] == 'ready' then
  local priority, offset = math.min(tonumber(ARGV[3]) or 9, 9), tonumber(ARGV[4]) or 0
  while priority >= 0 and #reply == 3 do
    local part = redis.call('LRANGE', KEYS[READY + priority], -offset - chunk, -offset - 1)
    local numbers = {}
    for i = #part, 1, -1 do numbers[#numbers + 1] = part[i] end
    show(numbers)
    offset = offset + #part
    if #part < chunk then priority, offset = priority - 1, 0 end
    if #part > 0 then break end
  end
  if priority >= 0 then reply[2], reply[3] = tostring(priority), tostring(offset) end
  return reply
end

local key = ({ delayed = DELAYED, leased = LEASED, dead = DEAD })[ARGV[1]]
local first = 0
if ARGV[3] ~= '' then
  local rank = redis.call('ZRANK', key, ARGV[4])
  if rank and redis.call('ZSCORE', key, ARGV[4]) == ARGV[3] then
    first = rank + 1
  else
    first = redis.call('ZCOUNT', key, '-inf', '(' .. ARGV[3])
  end
end
local page = redis.call('ZRANGE', key, first, first + chunk - 1, 'WITHSCORES')
local numbers, scores = {}, {}
for i = 1, #page, 2 do numbers[#numbers + 1], scores[#scores + 1] = page[i], page[i + 1] end
show(numbers, scores)
if #numbers == chunk then reply[2], reply[3] = scores[#scores], numbers[#numbers] end
return reply
