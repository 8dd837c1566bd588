-- Reads the type of each key.
-- KEYS  see parts/keys.lua, all, and GROUPS
-- Reply the type of each key, `none` if it does not exist
local types = {}
for i = 1, LAST_KEY + 1 do types[i] = redis.call('TYPE', KEYS[i]).ok end
return types
