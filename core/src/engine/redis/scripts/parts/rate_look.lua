-- While a client looks when the rate allows the next lease (see parts/rate_turns.lua), items that become ready wake
-- nobody. Nobody looks if there is no rate, nor later than the longest period from now.
local notify_any = notify_workers
local function notify_workers(waiting, at)
  if waiting and at <= tonumber(waiting) and at <= now then
    local look, used = unpack(redis.call('HMGET', META, 'rate_look', 'rate_used'))
    local looks_at = look and used and tonumber(string.match(look, '^%d+')) or 0
    if looks_at > now and looks_at <= now + 31 * DAY then return end
  end
  notify_any(waiting, at)
end
