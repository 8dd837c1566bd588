-- Returns the server time at which retained items or reserved times of unique keys are to be deleted, or items expire;
-- nil if there are none. Nobody sees them once their time is over, so it is enough to look once a minute.
local function next_sweep()
  local first
  for _, key in ipairs({ COMPLETED, CANCELLED, TIMERS, EXPIRIES }) do
    local score = tonumber(redis.call('ZRANGE', key, '0', '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')[2])
    if score and (not first or score < first) then first = score end
  end
  return first and math.ceil(first / 60000) * 60000
end

-- The earlier of the two times, each of which may be nil.
local function earlier(one, other)
  return one and other and math.min(one, other) or one or other
end
