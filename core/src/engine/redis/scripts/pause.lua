-- Stops leasing; other operations go on. Makes the queue if there is none.
-- KEYS  see parts/keys.lua, up to META
-- ARGV  [1] salt of the incarnation
local meta = redis.call('HMGET', META, 'format', 'last')
local refused = refusal(meta[1])
if refused then return refused end
if not meta[1] then
  local last = math.max(meta[2] and count_of(meta[2]) or 0, (now - YEAR_2026) * 256)
  local number = in_base_36(last + 1) .. ARGV[1]
  redis.call('HSET', META, 'last', number)
  make_queue(number)
end
redis.call('HSET', META, 'paused', 1)
return 1
