-- Reads items of one state: ready items in the order of leasing, others by time.
-- KEYS  see parts/keys.lua, all
-- ARGV  [1] state, [2] at most how many (1,000), [3] and [4] where to go on: for ready items priority and
--       offset from the front, else score and number of the last item seen; '' to begin
-- Reply server time, the next [3] and [4] ('' at the end), then per item: number, record, details ('' if
--       none), score ('' if ready)
local limit = tonumber(ARGV[2])
local reply = { text(now), '', '' }

-- Adds as many items as fit to the reply; returns how many.
local function add_items(numbers, scores)
  if #numbers == 0 then return 0 end
  local details = redis.call('HMGET', DETAILS, unpack(numbers))
  local fits = fitting(details, MAX_REPLY, 1)
  local records = redis.call('HMGET', ITEMS, unpack(numbers, 1, fits))
  for i = 1, fits do
    if records[i] then
      for _, value in ipairs({ numbers[i], records[i], details[i] or '', scores and scores[i] or '' }) do
        reply[#reply + 1] = value
      end
    end
  end
  return fits
end

if ARGV[1] == 'ready' then
  local priority, offset = math.min(tonumber(ARGV[3]) or 9, 9), tonumber(ARGV[4]) or 0
  while priority >= 0 and #reply == 3 do
    local part = redis.call('LRANGE', KEYS[READY + priority], -offset - limit, -offset - 1)
    local numbers = {}
    for i = #part, 1, -1 do numbers[#numbers + 1] = part[i] end
    local shown = add_items(numbers)
    offset = offset + shown
    if #part < limit and shown == #part then priority, offset = priority - 1, 0 end
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
local page = redis.call('ZRANGE', key, first, first + limit - 1, 'WITHSCORES')
local numbers, scores = {}, {}
for i = 1, #page, 2 do numbers[#numbers + 1], scores[#scores + 1] = page[i], page[i + 1] end
local shown = add_items(numbers, scores)
if shown > 0 and (#numbers == limit or shown < #numbers) then reply[2], reply[3] = scores[shown], numbers[shown] end
return reply
