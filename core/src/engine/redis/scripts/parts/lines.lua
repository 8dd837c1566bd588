local function rank_of(priority, order) return (9 - priority) * RANKS + order end

-- Rank and number in an entry. `size`: of what comes before, which line_of has made.
local function read_entry(entry, size)
  return (tonumber(string.sub(entry, size + 1, size + 16)) or 0) - MIDDLE, string.sub(entry, size + 17)
end

local function read_order() return last_order(redis.call('HGET', META, 'holds')) end

-- Puts items into the lines of their keys: key, rank and number of each. Before, their keys have got their flags.
-- `last`: the last order that was given.
local function hold(items, last)
  local entries, scored, key, line = {}, {}, nil, nil
  for n, one in ipairs(items) do
    if one.key ~= key then key, line = one.key, line_of(one.key) end
    entries[2 * n - 1], entries[2 * n] = '0', entry_in(line, one.rank, one.number)
    scored[2 * n - 1], scored[2 * n] = text(one.rank), one.number
  end
  redis.call('HSET', META, 'holds', text(last))
  redis.call('ZADD', LINES, unpack(entries))
  redis.call('ZADD', HELD, unpack(scored))
end
