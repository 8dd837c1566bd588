-- Returns how many of the first `count` items have results that fit into `room` bytes, but at least one.
local function fitting_results(numbers, count, room)
  if redis.call('EXISTS', RESULTS) == 0 then return count end
  for i = 1, count do
    room = room - redis.call('HSTRLEN', RESULTS, numbers[i])
    if (room < 0 or i > 400) and i > 1 then return i - 1 end
  end
  return count
end
