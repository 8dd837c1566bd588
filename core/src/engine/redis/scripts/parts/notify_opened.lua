-- Notifies a worker if this script has opened keys: held items may be leased.
local function notify_opened()
  if key_step.opened then notify_workers(redis.call('HGET', META, 'waiting'), now) end
end
