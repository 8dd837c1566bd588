-- The rate of each key. METERS: key to the time (in µs) until when it has not refilled. Each lease moves that on by a
-- step, and a time that has passed says nothing. It does not depend on the rate, so another rate needs no conversion. A step
-- is rounded up, which allows fewer leases, never more.

-- `step` in µs, and `most`: what can be used up; nil if the settings have no such rate.
local function key_rate(settings)
  if not settings.key_rate then return nil end
  local step = math.ceil(settings.key_rate_period * 1000 / settings.key_rate)
  return { step = step, most = step * settings.key_rate_burst }
end

-- The latest ms at which a key may open.
local function latest_opening(rate) return now + math.ceil(rate.step / 1000) end
