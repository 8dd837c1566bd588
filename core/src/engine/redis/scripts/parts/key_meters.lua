-- What is used up of the rates of some keys; nil if they have none. `untils`: key to what METERS has, where a time that is
-- further away than the rate can use up is cut to that: the clock was set back, or an earlier rate was lower.
local function read_meters(keys)
  local rate = key_rate(read_settings())
  if not rate then return nil end
  local meters, now_us = { rate = rate, untils = {}, charged = {} }, now * 1000
  for n, stored in ipairs(redis.call('ZMSCORE', METERS, unpack(keys))) do
    local key, until_time = keys[n], tonumber(stored or nil) or 0
    meters.untils[key] = math.max(now_us, math.min(until_time, now_us + rate.most))
    -- It is written, or it would be cut again and again, until the clock reaches it.
    if until_time > now_us + rate.most then meters.charged[#meters.charged + 1] = key end
  end
  return meters
end

-- How many leases of the key are allowed now.
local function allowed_by(meters, key)
  return math.floor((now * 1000 + meters.rate.most - meters.untils[key]) / meters.rate.step)
end

-- When the next lease of the key is allowed, as OPEN has it.
local function opening_of(meters, key)
  return text(LATER + math.ceil((meters.untils[key] - meters.rate.most + meters.rate.step) / 1000))
end

local function charge(meters, key)
  meters.untils[key] = meters.untils[key] + meters.rate.step
  meters.charged[#meters.charged + 1] = key
end

-- Writes what is used up, before the items are leased: a script that dies between leaves fewer leases, never more. Drops
-- twice as many that have passed, so METERS does not grow beyond the keys that were leased within their times.
local function write_meters(meters)
  local scored, seen = {}, {}
  for _, key in ipairs(meters.charged) do
    if not seen[key] then
      seen[key], scored[#scored + 1], scored[#scored + 2] = true, text(meters.untils[key]), key
    end
  end
  if #scored == 0 then return end
  redis.call('ZADD', METERS, unpack(scored))
  local passed = redis.call('ZRANGE', METERS, '-inf', now * 1000, 'BYSCORE', 'LIMIT', 0, #scored)
  if #passed > 0 then redis.call('ZREM', METERS, unpack(passed)) end
end
