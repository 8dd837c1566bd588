-- The server time at which the first schedule is due, or now if there are follow-ups to add; nil if there is none. And whether
-- the outbox has entries.
local function next_tick()
  if redis.call('EXISTS', DEFERRED, OUTBOX, TICKS) == 0 then return nil, false end
  local left = what_is_left()
  if left % 2 == 1 then return now, left > 1 end
  return tonumber(redis.call('ZRANGE', TICKS, '0', '0', 'WITHSCORES')[2]), left > 1
end
