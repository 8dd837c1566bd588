-- Pushes a token without content for the clients that block on WAKE, if something becomes ready, due or
-- expired before they poll. `waiting` (in META): the server time until which some client may wait without
-- polling.
local function notify_workers(waiting, at)
  if waiting and at <= tonumber(waiting) and redis.call('LLEN', WAKE) == 0 then
    redis.call('LPUSH', WAKE, '1')
  end
end
