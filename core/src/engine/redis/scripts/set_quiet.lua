-- Makes the workers of a name quiet, or no longer.
-- KEYS  see parts/keys_of_workers.lua
-- ARGV  [1] name, [2] 1 or 0, [3] how many names may be quiet
-- Reply 1, or -1 (as many names are quiet as may be)
if ARGV[2] == '0' then
  redis.call('HDEL', QUIET, ARGV[1])
elseif redis.call('HEXISTS', QUIET, ARGV[1]) == 0 then
  if redis.call('HLEN', QUIET) >= tonumber(ARGV[3]) then return -1 end
  redis.call('HSET', QUIET, ARGV[1], text(now))
end
return 1
