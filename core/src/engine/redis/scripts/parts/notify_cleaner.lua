-- The same for those that clean: one content-free token for whoever blocks on DUE. `watched` (in META)
-- is the server time at which some cleaner looks again by itself: only what is due or expires before
-- then needs a token.
local function notify_cleaner(watched, at)
  if at < (tonumber(watched) or 0) and redis.call('LLEN', DUE) == 0 then
    redis.call('LPUSH', DUE, '1')
  end
end
