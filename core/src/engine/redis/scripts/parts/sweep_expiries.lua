-- Makes items dead that have expired, the first `limit` of them whose records have up to `room` bytes. Each is a new
-- generation, as a buried item, so that no entry of a ready list leads to it. Returns whether there may be more.
local function sweep_expiries(limit, room)
  local found = redis.call('ZRANGE', EXPIRIES, '0', now, 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES')
  if #found == 0 then return false end
  local numbers, unleased, seen_leased, ended = {}, {}, {}, {}
  for i = 1, #found, 2 do numbers[#numbers + 1] = found[i] end
  for i, deadline in ipairs(redis.call('ZMSCORE', LEASED, unpack(numbers))) do
    if deadline then
      seen_leased[#seen_leased + 1] = text(-found[2 * i])
      seen_leased[#seen_leased + 1] = numbers[i]
    else
      unleased[#unleased + 1] = numbers[i]
    end
  end
  local items, all, more = read_items(unleased, {}, room), {}, #numbers == limit
  for _, number in ipairs(unleased) do
    local item = items[number]
    if item and item.left then
      more = true
    elseif item then
      item.id, item.x.error, item.x.front = item.stored_id, NOT_LEASED, 0
      all[#all + 1] = item
    else
      ended[#ended + 1] = number -- a script died half-way
    end
  end
  if #seen_leased > 0 then redis.call('ZADD', EXPIRIES, 'XX', unpack(seen_leased)) end
  if #ended > 0 then redis.call('ZREM', EXPIRIES, unpack(ended)) end
  if #all > 0 then
    renumber(all, salt_of_call(), 'd')
    local dead, expired = {}, {}
    for n, item in ipairs(all) do
      dead[2 * n - 1], dead[2 * n], expired[n] = text(now), item.number, item.number
    end
    fire_deaths(expired)
    redis.call('ZADD', DEAD, unpack(dead))
    items_expired(expired)
  end
  return more
end
