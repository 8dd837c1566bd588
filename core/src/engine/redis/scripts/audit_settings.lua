-- Finds settings, a revision, a pause, its note and the use of a rate that cannot be read, or are out of range, and mends
-- them. It ends no pause.
-- KEYS  see parts/keys.lua
-- ARGV  [1] 1 to mend, 0 to check
-- Reply what was wrong, as text
local meta = redis.call('HMGET', META, 'format', 'revision', 'paused', 'settings', 'swept', 'rate_used', 'rate_look',
  'event', 'pause_note')
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
local readable = settings and pack_settings(unpack_settings(settings))
-- A revision that nobody has seen.
local is_revision = revision and string.match(revision, '^[1-9]%d?%d?%d?%d?%d?%d?%d?%d?%d?%d?%d?%d?%d?%d?$')
local next_revision = text(math.max((is_revision and tonumber(revision) or 0) + 1, now))
if revision and not is_revision then mend('revision', revision, next_revision) end
-- The clock may have been set back since the pause began, so one that is too long is shortened. Nobody knows how long
-- one was meant to be that cannot be read.
local latest = now + 366 * 86400000
if paused and not string.match(paused, '^%d+$') then
  mend('paused', paused, '1')
elseif paused and tonumber(paused) > latest + 60000 then
  mend('paused', paused, text(latest))
end
local begun = meta[9] and string.match(meta[9], '^(%d+)\n[^\n]*\n[^\n]*$')
if meta[9] and not (begun and tonumber(begun) <= now + 60000) then mend('pause_note', 'unreadable or too late') end
if readable ~= settings then
  mend('settings', settings, readable)
  if ARGV[1] == '1' then redis.call('HSET', META, 'revision', next_revision) end
end
local swept = meta[5]
if swept and not string.match(swept, '^%d+$') then mend('swept', swept) end

-- Nobody sees what is used up of a rate that was removed.
local known = unpack_settings(settings)
local meter, rate_used, look = read_meter(known, meta[6]), meta[6], meta[7]
local used, at = string.match(rate_used or '0 0', '^(%d+) (%d+)$')
if meter and not (used and tonumber(used) <= meter.most and tonumber(at) <= now + 60000) then
  mend('rate_used', rate_used, pack_meter(meter))
end
local looks_at = look and tonumber(string.match(look, '^(%d+) .+$'))
if look and not (looks_at and meter and looks_at <= now + meter.period + 60000) then mend('rate_look', look) end
-- No event may get a number that one in the stream has, or a lower one.
local counter = meta[8]
local kept = redis.call('TYPE', EVENTS).ok == 'stream' and redis.call('XREVRANGE', EVENTS, '+', '-', 'COUNT', 1)[1]
local last = kept and tonumber(string.match(kept[1], '^%d+')) or 0
if counter and not string.match(counter, '^%d+$') or last > (tonumber(counter) or 0) then
  mend('event', counter or 'missing', text(math.max(last, (now - 1767225600000) * 256)))
end
return wrong
