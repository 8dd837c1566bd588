-- Puts a token back that was popped for a call that is gone, unless the list has one: one token is enough,
-- however many clients end at the same time. It expires after a day, because the queue may be gone too.
-- KEYS  [1] the list of tokens
-- Reply nothing
if redis.call('LLEN', KEYS[1]) == 0 then
  redis.call('RPUSH', KEYS[1], '1')
  redis.call('PEXPIRE', KEYS[1], '86400000')
end
