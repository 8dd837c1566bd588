-- One content-free token for clients that block on WAKE. `waiting` (in META) is the server time until
-- which some client may be waiting without looking: only what becomes ready, due or expired before
-- then needs a token. Whoever looks later than that sees it anyway.
local function wake_before(waiting, at)
  if waiting and at <= tonumber(waiting) and redis.call('LLEN', WAKE) == 0 then
    redis.call('LPUSH', WAKE, '1')
  end
end
