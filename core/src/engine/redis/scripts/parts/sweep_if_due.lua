-- Sweeps, if there may be something to sweep. `settings`: as stored.
local function sweep_if_due(settings)
  local due = settings and string.find(settings, 'max_[dr]') -- limits of dead and retained items
  if not due and redis.call('EXISTS', COMPLETED, CANCELLED, TIMERS, EXPIRIES) == 0 then return end
  for _, key in ipairs(due and {} or { COMPLETED, CANCELLED, TIMERS, EXPIRIES }) do
    local from = key == EXPIRIES and '0' or '-inf' -- those below 0 have been seen
    due = due or redis.call('ZRANGE', key, from, now, 'BYSCORE', 'LIMIT', 0, 1)[1]
  end
  if due then sweep(100, 1048576) end
end
