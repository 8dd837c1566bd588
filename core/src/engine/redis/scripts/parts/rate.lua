-- How much of a rate is used up: `used at` in the field `rate_used` of META. Each lease adds a period to it, and each ms
-- takes `rate` from it. It never exceeds the burst times the period, which is less than 2^53, so a rate is counted
-- exactly, in whole numbers.

-- `stored`: the field. Returns nil if the settings have no rate. `sound`: false if the field must be written, because it
-- cannot be read, or the clock was set back: the rate would open no more before the clock reaches the stored time.
local function read_meter(settings, stored)
  if not settings.rate then return nil end
  local meter = { rate = settings.rate, period = settings.rate_period, most = settings.rate_burst * settings.rate_period }
  local used, at = string.match(stored or '0 0', '^(%d+) (%d+)$')
  used, at = tonumber(used), tonumber(at)
  meter.sound = used and used <= meter.most and at <= now
  -- Nobody knows how much is used up if that cannot be read. The time by which the clock was set back counts as none.
  used = math.min(used or meter.most, meter.most)
  meter.used = meter.sound and math.max(0, used - (now - at) * meter.rate) or used
  return meter
end

local function pack_meter(meter) return text(meter.used) .. ' ' .. text(now) end

-- When the next lease is allowed; nil if one is allowed now.
local function opens_at(meter)
  local over = meter.used - (meter.most - meter.period)
  if over <= 0 then return nil end
  local wait = math.floor(over / meter.rate)
  if wait * meter.rate < over then wait = wait + 1 end
  return now + wait
end
