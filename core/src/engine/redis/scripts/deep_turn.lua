-- Gives turns at deep cleans, so that only one of many cleaners does it.
-- KEYS  see parts/keys.lua
-- ARGV  [1] `take`, `keep` (still cleaning), `done` or `drop` (not finished), [2] shortest time (ms) since the
--       last deep clean, [3] how long (ms) the turn lasts unless it is kept
-- Reply 0, or for `take` ms until the turn can be taken
if ARGV[1] == 'take' then
  local meta = redis.call('HMGET', META, 'cleaned', 'cleaning')
  local cleaned, taken_until = tonumber(meta[1]), tonumber(meta[2]) or 0
  local wait = math.max(0, taken_until - now, cleaned and cleaned + ARGV[2] - now or 0)
  -- A clock that was set back must not delay the turn for ever.
  if wait > 0 then return math.min(wait, math.max(ARGV[2], ARGV[3])) end
end
if ARGV[1] == 'done' then redis.call('HSET', META, 'cleaned', text(now)) end
if ARGV[1] == 'take' or ARGV[1] == 'keep' then
  redis.call('HSET', META, 'cleaning', text(now + ARGV[3]))
else
  redis.call('HDEL', META, 'cleaning')
end
if not redis.call('HGET', META, 'format') then redis.call('PEXPIRE', META, DAY) end
return 0
