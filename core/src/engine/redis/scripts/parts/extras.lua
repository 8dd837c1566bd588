-- The name of the follow-ups of the item with this record, nil if it has none.
local function name_in(record)
  if record and math.floor((string.byte(record) or 0) / 16) % 2 == 1 then return (select(6, read_head(record))) end
end

-- For how many items a step asks how large their results are.
local MAX_RESULTS = 400

-- Reads what extended queues keep of items, for the first of them: as many as fit into a reply, but at least one.
-- Returns when each has ended, its result, when it expires, whether its cancellation was requested, and its packed follow-ups
-- (false or nil if there is none), as lists, and how many items they are for. `records`: those of
-- the same items. Results and follow-ups are not read unless `with_data`.
local function read_extras(numbers, records, count, with_data)
  local ended = redis.call('HMGET', ENDED, unpack(numbers, 1, count))
  local names, places, follow_ups = {}, {}, {}
  if with_data then
    local room, asked = MAX_REPLY, 0
    local attached = attached_names({ unpack(numbers, 1, count) }, {})
    for i = 1, count do room = room - #(records[i] or '') end
    for i = 1, count do
      if ended[i] then
        room, asked = room - redis.call('HSTRLEN', RESULTS, numbers[i]), asked + 1
      end
      local name = not ended[i] and (attached[i] or name_in(records[i]))
      if name then room = room - struct.unpack('>I4', name, 2) end
      if (room < 0 or asked > MAX_RESULTS) and i > 1 then
        count = i - 1
        break
      end
      local at = #names + 1
      if name then names[at], places[at] = name, i end
    end
  end
  for i, packed in ipairs(#names > 0 and redis.call('HMGET', FOLLOW_UPS, unpack(names)) or {}) do
    follow_ups[places[i]] = packed
  end
  local results = with_data and redis.call('HMGET', RESULTS, unpack(numbers, 1, count)) or {}
  local expiries = redis.call('ZMSCORE', EXPIRIES, unpack(numbers, 1, count))
  return ended, results, expiries, redis.call('HMGET', MARKS, unpack(numbers, 1, count)), follow_ups, count
end
