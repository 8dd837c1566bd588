-- Stops leasing, for a time or until it is resumed; other operations go on. Makes the queue if there is none.
-- KEYS  see parts/keys.lua
-- ARGV  [1] lane, [2] number, [3] salt of the incarnation, [4] for how long, in ms (0: until `resume`), [5] who
--       pauses and why, as in `pause_note` of META
-- Reply 1
local done = load_reply()
if done then return done end

local meta = redis.call('HMGET', META, 'format', 'waiting', 'rate_look')
local refused = refusal(meta[1])
if refused then return refused end
if not meta[1] then make_empty_queue(ARGV[3]) end
local duration = tonumber(ARGV[4])
-- Who asks during the pause gets its end, and does not look when the rate allows a lease.
if meta[3] then redis.call('HDEL', META, 'rate_look') end
redis.call('HSET', META, 'paused', duration > 0 and text(now + duration) or '1', 'pause_note', text(now) .. '\n' .. ARGV[5])
-- The pause may end earlier than the one that clients know of.
if duration > 0 then notify_workers(meta[2], now + duration) end
save_reply('1')
return '1'
