-- LINES: the waiting items of all keys, in the order in which those of each key are leased. An entry is the length of the
-- key (one byte), the key, the rank plus 2^48 (16 digits), and the number. HELD has the rank, too. It is
-- (9 - priority) * 2^49 plus an order: the negative one of an item that was put to the front.
local RANKS, MIDDLE = 562949953421312, 281474976710656 -- 2^49, 2^48
local function rank_of(priority, order) return (9 - priority) * RANKS + order end
local function line_of(key) return string.char(#key) .. key end
local function entry_of(key, rank, number)
  return line_of(key) .. string.format('%016d', rank + MIDDLE) .. number
end

-- Priority, rank and number in an entry. `size`: of what comes before, which line_of has made.
local function read_entry(entry, size)
  local rank = (tonumber(string.sub(entry, size + 1, size + 16)) or 0) - MIDDLE
  return math.max(0, 9 - math.floor((rank + MIDDLE) / RANKS)), rank, string.sub(entry, size + 17)
end

-- The last order that was given. The next ones are greater; they follow the clock as the counts of numbers do.
local function last_order()
  return math.max(tonumber(redis.call('HGET', META, 'holds')) or 0, (now - 1767225600000) * 256)
end

-- Puts items into the lines of their keys: key, rank and number of each. Before, their keys have got their flags.
-- `last`: the last order that was given.
local function hold(items, last)
  local entries, scored = {}, {}
  for n, one in ipairs(items) do
    entries[2 * n - 1], entries[2 * n] = '0', entry_of(one.key, one.rank, one.number)
    scored[2 * n - 1], scored[2 * n] = text(one.rank), one.number
  end
  redis.call('HSET', META, 'holds', text(last))
  redis.call('ZADD', LINES, unpack(entries))
  redis.call('ZADD', HELD, unpack(scored))
end
