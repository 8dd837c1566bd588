-- Moves what is due or expired, at most `limit` items of each kind, oldest first: due items become
-- ready, expired leases count an expiry and become ready at the front, or dead at their limit of
-- attempts. Returns how many were promoted, expired and died.
local function move_due(limit)
  local expired = redis.call('ZRANGE', LEASED, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)
  local due = redis.call('ZRANGE', DELAYED, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)
  local died, moves = 0, (#expired > 0 or #due > 0) and collect()
  if #expired > 0 then
    local extras = redis.call('HMGET', EXTRA, unpack(expired))
    local changed = {}
    for i, number in ipairs(expired) do
      local x = unpack_extra(extras[i])
      x.expiries = x.expiries + 1
      x.deliveries = x.deliveries + 1
      changed[#changed + 1] = number
      changed[#changed + 1] = pack_extra(x)
      if x.max_attempts > 0 and x.failures + x.expiries >= x.max_attempts then
        moves.at(DEAD, now, number)
        died = died + 1
      else
        moves.to_front(x.priority, number)
      end
    end
    redis.call('ZREM', LEASED, unpack(expired))
    redis.call('HSET', EXTRA, unpack(changed))
    redis.call('HINCRBY', META, 'expired', #expired)
    if died > 0 then redis.call('HINCRBY', META, 'died', died) end
  end
  if #due > 0 then
    local extras = redis.call('HMGET', EXTRA, unpack(due))
    for i, number in ipairs(due) do
      local x = unpack_extra(extras[i])
      if x.front == 1 then moves.to_front(x.priority, number) else moves.to_back(x.priority, number) end
    end
    redis.call('ZREM', DELAYED, unpack(due))
  end
  if moves then moves.write() end
  return #due, #expired, died
end
