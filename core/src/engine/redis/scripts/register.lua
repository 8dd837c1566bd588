-- Sets what the list of queues has for one name, unless it has changed.
-- KEYS  [1] the list of queues
-- ARGV  [1] the name, [2] what the list has (an incarnation; '' if it has not the name), [3] what it should have
-- Reply 1 if it was so, else 0
if (redis.call('HGET', KEYS[1], ARGV[1]) or '') ~= ARGV[2] then return 0 end
if ARGV[3] == '' then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
end
return 1
