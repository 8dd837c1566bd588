-- Whose turn it is to clean deeply, so that many cleaners do it once.
-- KEYS  see parts/keys.lua, up to META
-- ARGV  [1] `take`, `keep` (still at it), `done` or `drop` (not finished), [2] at least how long (ms) after
--       the last one, [3] how long (ms) the turn lasts unless it is kept
-- Reply 0, or for `take`: ms until there is something to take
if ARGV[1] == 'take' then
  local meta = redis.call('HMGET', META, 'cleaned', 'cleaning')
  local cleaned, until_then = tonumber(meta[1]), tonumber(meta[2]) or 0
  local wait = math.max(0, until_then - now, cleaned and cleaned + ARGV[2] - now or 0)
  -- A clock that was set back must not put it off for ever.
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
