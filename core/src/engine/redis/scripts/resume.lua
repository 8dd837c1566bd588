-- Goes on leasing after a pause, and wakes a waiting client (which wakes the next, and so on).
-- KEYS  see parts/keys.lua, up to WAKE
if redis.call('HDEL', META, 'paused') == 1 then
  wake_before(redis.call('HGET', META, 'waiting'), 0)
end
return 1
