-- Resumes leasing after a pause, and notifies a waiting client, which notifies the next.
-- KEYS  see parts/keys.lua
-- ARGV  [1] lane, [2] number
-- Reply 1
local done = load_reply()
if done then return done end

if redis.call('HDEL', META, 'paused', 'pause_note') > 0 then notify_workers(redis.call('HGET', META, 'waiting'), 0) end
save_reply('1')
return '1'
