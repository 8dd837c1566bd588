-- Counts the items in each state. Reads the totals since the queue was made, and the age of the oldest
-- ready item.
-- KEYS  see parts/keys.lua
-- Reply leased, delayed, dead, completed, cancelled (those that are kept), held, paused (1 or 0), whether the rate is used up
--       (1 or 0), age in ms (-1: none is ready), ready by priority 0 to 9, then the totals added, leased, completed,
--       expired, failed, died, removed, replaced, expired_unleased, cancelled
local meta = redis.call('HMGET', META, 'paused', 'added', 'leased', 'completed', 'expired', 'failed', 'died', 'removed',
  'replaced', 'expired_unleased', 'cancelled', 'gone:0', 'gone:1', 'gone:2', 'gone:3', 'gone:4', 'gone:5', 'gone:6', 'gone:7',
  'gone:8', 'gone:9', 'rate_used')
local meter = read_meter(read_settings(), meta[22])
local kept = '(' .. text(now)
local reply = { redis.call('ZCARD', LEASED), redis.call('ZCARD', DELAYED), redis.call('ZCARD', DEAD),
  redis.call('ZCOUNT', COMPLETED, kept, '+inf'), redis.call('ZCOUNT', CANCELLED, kept, '+inf'),
  redis.call('ZCARD', HELD), pause_end(meta[1]) and 1 or 0,
  meter and opens_at(meter) and 1 or 0, -1 }
local oldest
local budget = 800 -- entries to look at in all; most of them may be tombstones
for p = 0, 9 do
  local length = redis.call('LLEN', KEYS[READY + p])
  reply[10 + p] = math.max(0, length - (tonumber(meta[12 + p]) or 0))
  -- The front of a list has the oldest item, unless one was released with a delay: look at a few.
  local items, place = 0, 0
  while place < length and items < 16 and budget > 0 do
    local heads = redis.call('LRANGE', KEYS[READY + p], -place - 16, -place - 1)
    place, budget = place + #heads, budget - #heads
    local details = redis.call('HMGET', DETAILS, unpack(heads))
    for i, number in ipairs(heads) do
      if redis.call('HEXISTS', ITEMS, number) == 1 then
        items = items + 1
        local since = unpack_details(details[i]).since
        if since == 0 then since = math.floor((count_of(number) or 0) / 256) + YEAR_2026 end
        if not oldest or since < oldest then oldest = since end
      end
    end
  end
end
if oldest then reply[9] = math.max(0, now - oldest) end
for i = 2, 11 do reply[18 + i] = tonumber(meta[i]) or 0 end
return reply
