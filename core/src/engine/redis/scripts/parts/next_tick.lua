-- The server time at which the first schedule is due; nil if none is ever.
local function next_tick()
  return tonumber(redis.call('ZRANGE', TICKS, '0', '0', 'WITHSCORES')[2])
end
