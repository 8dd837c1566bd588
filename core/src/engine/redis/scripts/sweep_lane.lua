-- Deletes the lane of a queue that is gone, with all its entries, unless it was used since.
-- KEYS  see parts/keys.lua
-- ARGV  [1] lane, [2] what it had
-- Reply 1 if it was deleted, else 0
local found, forgotten = unpack(redis.call('HMGET', FORWARD_LANES, ARGV[1], 'forgotten'))
if found ~= ARGV[2] then return 0 end
local count = count_of(string.match(found, '^[^ ]+') or '') or 0
if count > (tonumber(forgotten) or 0) then redis.call('HSET', FORWARD_LANES, 'forgotten', text(count)) end
redis.call('HDEL', FORWARD_LANES, ARGV[1])
redis.call('HDEL', GROUPS, 'L' .. ARGV[1])
return 1
