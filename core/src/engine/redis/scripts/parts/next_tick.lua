-- The server time at which the first schedule is due, or now if there are follow-ups to add; nil if there is none.
local function next_tick()
  if redis.call('EXISTS', DEFERRED) == 1 then return now end
  return tonumber(redis.call('ZRANGE', TICKS, '0', '0', 'WITHSCORES')[2])
end
