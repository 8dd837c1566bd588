-- Reads the type of each key.
-- KEYS  see parts/keys.lua, all
-- Reply the type of each of KEYS, `none` if it does not exist
local types = {}
for i = 1, #KEYS do types[i] = redis.call('TYPE', KEYS[i]).ok end
return types
