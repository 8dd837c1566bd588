-- Resumes leasing after a pause, and notifies a waiting client, which notifies the next.
-- KEYS  see parts/keys.lua, up to WAKE
if redis.call('HDEL', META, 'paused') == 1 then
  notify_workers(redis.call('HGET', META, 'waiting'), 0)
else
  touch()
end
return 1
