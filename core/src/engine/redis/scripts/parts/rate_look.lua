-- While a client looks when the rate allows the next lease (see parts/rate_turns.lua), items that become ready wake
-- nobody.
local notify_any = notify_workers
local function notify_workers(waiting, at)
  local matters = waiting and at <= tonumber(waiting)
  local look = matters and at <= now and redis.call('HGET', META, 'rate_look')
  if look and (tonumber(string.match(look, '^%d+')) or 0) > now then return end
  notify_any(waiting, at)
end
