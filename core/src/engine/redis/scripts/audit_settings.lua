-- Finds settings, a revision and a pause that cannot be read, or are out of range, and drops them.
-- KEYS  see parts/keys.lua, up to META
-- ARGV  [1] 1 to mend, 0 to check
-- Reply what was wrong, as text
local meta = redis.call('HMGET', META, 'format', 'revision', 'paused', 'settings', 'swept')
local refused = ARGV[1] == '1' and refusal(meta[1])
if refused then return refused end
local wrong = {}
-- `mended`: what the field is to be; nil for nothing.
local function mend(field, found, mended)
  wrong[#wrong + 1] = field .. ' is ' .. found
  if ARGV[1] ~= '1' then return end
  if mended then redis.call('HSET', META, field, mended) else redis.call('HDEL', META, field) end
end

local revision, paused, settings = meta[2], meta[3], meta[4]
-- A revision that nobody has seen.
if revision and not string.match(revision, '^[1-9]%d?%d?%d?%d?%d?%d?%d?%d?%d?%d?%d?%d?%d?%d?$') then
  mend('revision', revision, text(now))
end
local latest = now + 366 * 86400000 + 60000
if paused and not (paused == '1' or string.match(paused, '^%d+$') and tonumber(paused) <= latest) then
  mend('paused', paused)
end
if settings then
  local readable = pack_settings(unpack_settings(settings))
  if readable ~= settings then mend('settings', settings, readable) end
end
local swept = meta[5]
if swept and not string.match(swept, '^%d+$') then mend('swept', swept) end
return wrong
