-- Stops leasing; all else goes on.
-- KEYS  see parts/keys.lua, up to META
redis.call('HSET', META, 'paused', 1)
return 1
