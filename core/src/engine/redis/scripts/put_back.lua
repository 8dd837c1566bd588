-- Puts a token back that was taken for a call that is gone. One is enough for whoever waits: clients
-- that end at the same time leave one, not one each. The queue may be gone as well, and then nobody would
-- take the token: it goes after a day.
-- KEYS  [1] the list of tokens
-- Reply nothing
if redis.call('LLEN', KEYS[1]) == 0 then
  redis.call('RPUSH', KEYS[1], '1')
  redis.call('PEXPIRE', KEYS[1], '86400000')
end
