-- Moves due and expired items, at most `limit` of each kind, oldest first. Due items become ready. An
-- expired item counts an expiry and becomes ready at the front, or dead at its limit of attempts, or is cancelled.
-- Returns how many were promoted, expired and died.
local function move_due(limit)
  local expired = redis.call('ZRANGE', LEASED, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)
  local due = redis.call('ZRANGE', DELAYED, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)
  local died, moves = 0, (#expired > 0 or #due > 0) and new_moves()
  -- Those that go to the front come behind the expired ones, so they go there first.
  local returning = #due > 0 and {}
  if #due > 0 then
    local details = redis.call('HMGET', DETAILS, unpack(due))
    for i, number in ipairs(due) do
      local x = unpack_details(details[i])
      if x.front == 1 then returning[#returning + 1] = { x.priority, number } else moves.to_back(x.priority, number) end
    end
    redis.call('ZREM', DELAYED, unpack(due))
  end
  if #expired > 0 then
    local dead = {}
    local details = redis.call('HMGET', DETAILS, unpack(expired))
    local changed, marked = {}, ends and ends.find_marked(expired)
    local free_places = ends and ends.find_leaving(expired, details)
    local cancelled = marked and {}
    for i, number in ipairs(expired) do
      local x = unpack_details(details[i])
      x.expiries = x.expiries + 1
      x.deliveries = x.deliveries + 1
      note_ending(x, 'E')
      local most = x.max_attempts > 0 and x.max_attempts or ends and ends.default_attempts() or 0
      changed[#changed + 1] = number
      changed[#changed + 1] = pack_details(x)
      if marked and marked[number] then
        cancelled[#cancelled + 1] = number
      elseif most > 0 and x.failures + x.expiries >= most then
        moves.at(DEAD, now, number)
        dead[#dead + 1] = number
      else
        moves.to_front(x.priority, number)
      end
    end
    if ends then ends.note_ends('e', changed, dead) end
    redis.call('ZREM', LEASED, unpack(expired))
    redis.call('HSET', DETAILS, unpack(changed))
    if free_places then free_places() end
    if ends then ends.fire_deaths(dead) end
    redis.call('HINCRBY', META, 'expired', #expired)
    died = #dead
    if marked then ends.end_marked(cancelled, marked) end
    if ends then ends.attempts_counted(expired, dead) end
    if died > 0 then redis.call('HINCRBY', META, 'died', died) end
  end
  for _, one in ipairs(returning or {}) do moves.to_front(one[1], one[2]) end
  if moves then moves.write(ends and ends.came_back) end
  if ends then ends.follow(expired) end
  return #due, #expired, died
end
