-- Pushes a token without content for a cleaner that blocks on DUE, if something is due or expires before
-- some cleaner looks again by itself. `watched` (in META): the server time at which it does.
local function notify_cleaner(watched, at)
  if at < (tonumber(watched) or 0) and redis.call('LLEN', DUE) == 0 then
    redis.call('LPUSH', DUE, '1')
  end
end
