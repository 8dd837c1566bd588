-- Whether there are more dead or retained items than the settings allow.
local function exceeds_settings(settings)
  local dead, retained = settings.max_dead, settings.max_retained
  return dead and redis.call('ZCARD', DEAD) > dead
    or retained and redis.call('ZCARD', COMPLETED) + redis.call('ZCARD', CANCELLED) > retained
end

-- Returns the server time at which retained items or reserved times of unique keys are to be deleted, or items expire, or
-- the settings allow items no longer; nil if there are none. Nobody sees them once their time is over, and the settings
-- promise no time, so it is enough to look once a minute.
local function next_sweep()
  local first, settings = nil, read_settings()
  local function at(time)
    if time and (not first or time < first) then first = time end
  end
  for _, key in ipairs({ COMPLETED, CANCELLED, TIMERS, EXPIRIES }) do
    at(tonumber(redis.call('ZRANGE', key, '0', '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')[2]))
  end
  local refilled = tonumber(redis.call('ZRANGE', METERS, 0, 0, 'WITHSCORES')[2])
  at(refilled and math.ceil(refilled / 1000))
  if settings.max_dead_age then
    local died = tonumber(redis.call('ZRANGE', DEAD, 0, 0, 'WITHSCORES')[2])
    at(died and died + settings.max_dead_age)
  end
  if exceeds_settings(settings) then
    -- The last sweep of a cleaner has left no more than that.
    local swept = tonumber(redis.call('HGET', META, 'swept')) or 0
    at(swept <= now and swept + 1 or 0)
  end
  return first and math.ceil(first / 60000) * 60000
end

-- The earlier of the two times, each of which may be nil.
local function earlier(one, other)
  return one and other and math.min(one, other) or one or other
end
