-- Leasing by the rate of the queue. When the rate is used up and items are ready, one client looks when it allows the
-- next lease; then it lets the client look that has waited longest. So the calls do not grow with the number of clients.
-- The field `rate_look` of META: when a client looks, and which. If it dies, the others poll.
local rates, meter, reserved, look = {}, nil, 0, nil

-- How many of the items may be leased now. They are counted before they are leased: if the script dies between, there
-- are fewer leases, never more.
function rates.reserve(wanted)
  local stored = redis.call('HMGET', META, 'rate_used', 'rate_look')
  meter, look = read_meter(read_settings(), stored[1]), stored[2]
  local allowed = math.min(wanted, math.floor((meter.most - meter.used) / meter.period))
  if allowed == 0 or redis.call('EXISTS', unpack(KEYS, READY, READY + 9)) == 0 and not (is_open and is_open()) then return 0 end
  reserved = allowed
  meter.used = meter.used + allowed * meter.period
  redis.call('HSET', META, 'rate_used', pack_meter(meter))
  return allowed
end

-- `leased`: how many items were; `more`: others are ready. Returns when the next lease is allowed; nil if one is allowed now.
function rates.settle(leased, more)
  if not meter then return nil end
  if leased < reserved or not (meter.sound or reserved > 0) then
    meter.used = meter.used - (reserved - leased) * meter.period
    redis.call('HSET', META, 'rate_used', pack_meter(meter))
  end
  local opens = opens_at(meter)
  -- Nobody looks for items that come later: whoever adds them wakes a client.
  if look and not (opens and more) then redis.call('HDEL', META, 'rate_look') end
  return opens
end

-- Items are ready, but the next lease is allowed at `opens`. Returns whether the caller is to look then. `waits`: it
-- waits, and has leased nothing; `waiting`: until when some client may wait without polling.
function rates.is_to_look(opens, waits, waiting)
  local client = string.match(ARGV[1], '^[^.]*')
  local at, who = string.match(look or '', '^(%d+) (.*)$')
  at = tonumber(at)
  if at and at > now and at <= opens and who ~= client then return false end
  if waits then
    redis.call('HSET', META, 'rate_look', text(opens) .. ' ' .. client)
    return true
  end
  if look then redis.call('HDEL', META, 'rate_look') end
  notify_workers(waiting, opens)
  return false
end
