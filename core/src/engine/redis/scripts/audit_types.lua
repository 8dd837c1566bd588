-- Which type each key has.
-- KEYS  see parts/keys.lua, all
-- Reply the type of each key, `none` if it does not exist
local types = {}
for i, key in ipairs(KEYS) do types[i] = redis.call('TYPE', key).ok end
return types
