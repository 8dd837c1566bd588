-- Collects numbers by destination, so that each list and sorted set is written once. The inner functions
-- are made only when something moves: making a function costs time in every call.
local function new_moves()
  local back, front, scored = {}, {}, {}
  local function into(bag, key, number)
    local list = bag[key]
    if not list then
      list = {}
      bag[key] = list
    end
    list[#list + 1] = number
  end

  local moves = {}
  function moves.to_back(priority, number) into(back, KEYS[READY + priority], number) end
  function moves.to_front(priority, number) into(front, KEYS[READY + priority], number) end
  function moves.at(key, score, number)
    into(scored, key, text(score))
    into(scored, key, number)
  end

  -- Items are leased from the right end: the first one collected for the front is leased first.
  -- `came_back`: what counts those that go to the front, if anything does.
  function moves.write(came_back)
    for key, numbers in pairs(back) do redis.call('LPUSH', key, unpack(numbers)) end
    for key, numbers in pairs(front) do
      local reversed = {}
      for i = #numbers, 1, -1 do reversed[#reversed + 1] = numbers[i] end
      redis.call('RPUSH', key, unpack(reversed))
      if came_back then came_back(string.match(key, ':ready:(%d)$') or '0', #numbers) end
    end
    for key, pairs_of in pairs(scored) do redis.call('ZADD', key, unpack(pairs_of)) end
  end
  return moves
end
