-- Changes settings of the queue, and leaves the others. Makes the queue if there is none.
-- KEYS  see parts/keys.lua
-- ARGV  [1] lane, [2] number, [3] salt of the incarnation, [4] the revision that must be stored ('': any), then for each
--       setting: its name and value (0: it is not set any more)
-- Reply a string: 0 (refused: another revision is stored), or 1, or `n` if the queue is new, and after a space what
--       parts/pack_settings.lua shows

-- What of the new rate is used up if so much of the old one is: as many leases, and part of one.
local function convert_rate(old, new, stored)
  local meter = read_meter(old, stored)
  if not new.rate then return nil end
  if not meter then return '0 ' .. text(now) end
  local leases, part = math.floor(meter.used / meter.period), meter.used % meter.period
  if part > 0 and new.rate_period ~= meter.period then
    part = math.floor(part * new.rate_period / meter.period) + 1 -- rounded up
  end
  meter.used = math.min(leases * new.rate_period + part, new.rate_burst * new.rate_period)
  return pack_meter(meter)
end

local done = load_reply()
if done then return done end

local meta = redis.call('HMGET', META, 'format', 'revision', 'paused', 'settings', 'rate_used', 'waiting', 'pause_note')
local refused = refusal(meta[1])
if refused then return refused end
local revision = tonumber(meta[2]) or 0
local answer, rate_used = '0', meta[5]
if ARGV[4] == '' or tonumber(ARGV[4]) == revision then
  local settings, old = unpack_settings(meta[4]), unpack_settings(meta[4])
  local before = pack_settings(old)
  for i = 5, #ARGV, 2 do settings[ARGV[i]] = ARGV[i + 1] ~= '0' and tonumber(ARGV[i + 1]) or nil end
  local after = pack_settings(settings)
  answer = '1'
  if after ~= before then
    -- It follows the clock, so that no earlier value comes back when the queue was dropped, or the server has lost its
    -- latest data.
    revision = math.max(revision + 1, now)
    if not meta[1] then
      answer = 'n'
      make_empty_queue(ARGV[3])
    end
    make_extended(meta[1])
    if settings.events and not old.events then
      -- Later than all before, so that a reader learns that it has missed some.
      local event = math.max(tonumber(redis.call('HGET', META, 'event')) or 0, (now - YEAR_2026) * 256)
      redis.call('HSET', META, 'event', text(event))
    elseif old.events and not settings.events then
      redis.call('HDEL', META, 'event_by', 'event_torn')
      redis.call('UNLINK', EVENTS)
    end
    rate_used = convert_rate(old, settings, rate_used)
    -- The rate may allow more leases, or earlier ones.
    redis.call('HDEL', META, 'rate_look')
    if rate_used then
      redis.call('HSET', META, 'revision', text(revision), 'settings', after, 'rate_used', rate_used)
    else
      redis.call('HSET', META, 'revision', text(revision), 'settings', after)
      redis.call('HDEL', META, 'rate_used')
    end
    -- Held items of all keys may get places, or other times: see parts/raised.lua.
    local has_other_rate = settings.key_rate ~= old.key_rate or settings.key_rate_period ~= old.key_rate_period
      or settings.key_rate_burst ~= old.key_rate_burst
    if (settings.key_limit or 1) > (old.key_limit or 1) or has_other_rate then redis.call('HSET', META, 'raised', '') end
    notify_workers(meta[6], now)
  end
  answer = answer .. ' ' .. show_settings(revision, meta[3], meta[7], rate_used, settings)
end
save_reply(answer)
return answer
