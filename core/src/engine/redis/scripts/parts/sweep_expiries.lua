-- The items that have expired, with their times, by time and then by generation: so their deaths are ordered. A time from
-- which half a millisecond was taken (see parts/unique.lua) is that of the others of its millisecond.
local function find_passed(limit)
  local found = redis.call('ZRANGE', EXPIRIES, '0', now, 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES')
  local numbers, times, are_ordered = {}, {}, true
  for i = 1, #found, 2 do
    local number, time = found[i], tonumber(found[i + 1])
    numbers[#numbers + 1], times[number] = number, time
    are_ordered = are_ordered and time % 1 == 0
  end
  if not are_ordered then
    table.sort(numbers, function(one, other)
      local time, other_time = math.ceil(times[one]), math.ceil(times[other])
      return time < other_time or time == other_time and (count_of(one) or 0) < (count_of(other) or 0)
    end)
  end
  return numbers, times
end

-- Makes items dead that have expired, the first `limit` of them whose records have up to `room` bytes. Each is a new
-- generation, as a buried item, so that no entry of a ready list leads to it. Returns whether there may be more.
local function sweep_expiries(limit, room)
  local numbers, times = find_passed(limit)
  if #numbers == 0 then return false end
  local unleased, seen_leased, ended = {}, {}, {}
  for i, deadline in ipairs(redis.call('ZMSCORE', LEASED, unpack(numbers))) do
    if deadline then
      seen_leased[#seen_leased + 1] = text(-times[numbers[i]])
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
