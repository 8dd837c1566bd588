-- Reads the settings of the queue.
-- KEYS  see parts/keys.lua
-- Reply what parts/pack_settings.lua shows
local meta = redis.call('HMGET', META, 'revision', 'paused', 'settings', 'rate_used', 'pause_note')
return show_settings(tonumber(meta[1]), meta[2], meta[5], meta[4], unpack_settings(meta[3]))
