-- Sets the entry of one name in the list of queues, unless the entry has changed.
-- KEYS  [1] the list of queues
-- ARGV  [1] the name, [2] its entry (an incarnation; '' if there is none), [3] the new entry ('' for none)
-- Reply 1 if the entry was as given, else 0
if (redis.call('HGET', KEYS[1], ARGV[1]) or '') ~= ARGV[2] then return 0 end
if ARGV[3] == '' then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
end
return 1
