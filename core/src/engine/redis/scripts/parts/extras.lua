-- For how many items a step asks how large their results are.
local MAX_RESULTS = 400

-- Reads what extended queues keep of items, for the first of them: as many as fit into a reply, but at least one.
-- Returns when each has ended, its result, when it expires, and whether its cancellation was requested (false if there
-- is none), as lists, and how many items they are for. `records`: those of
-- the same items. Results are not read unless `with_results`.
local function read_extras(numbers, records, count, with_results)
  local ended = redis.call('HMGET', ENDED, unpack(numbers, 1, count))
  if with_results then
    local room, asked = MAX_REPLY, 0
    for i = 1, count do room = room - #(records[i] or '') end
    for i = 1, count do
      if ended[i] then
        room, asked = room - redis.call('HSTRLEN', RESULTS, numbers[i]), asked + 1
        if (room < 0 or asked > MAX_RESULTS) and i > 1 then
          count = i - 1
          break
        end
      end
    end
  end
  local results = with_results and redis.call('HMGET', RESULTS, unpack(numbers, 1, count)) or {}
  local expiries = redis.call('ZMSCORE', EXPIRIES, unpack(numbers, 1, count))
  return ended, results, expiries, redis.call('HMGET', MARKS, unpack(numbers, 1, count)), count
end
