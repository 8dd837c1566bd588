-- What the script has noted is true. Of the marks that count, those of an earlier execution are settled.
local function close_events()
  if not (event_step and event_step.last) then return end
  redis.call('HDEL', META, 'event_by')
  if event_step.settled then redis.call('HSET', META, 'event_torn', event_step.settled) end
end
