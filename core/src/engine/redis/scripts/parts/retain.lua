-- Keeps items that have ended: `set` has the time until which each is kept. An item keeps its number, its
-- record and its id, so no entry of a ready list may lead to it. `retains`: for how long, in ms, a list, or one time
-- for all; `results`: false or nil if an item has none.
local function retain_items(set, numbers, retains, results)
  local scores, ended, kept, time = {}, {}, {}, text(now)
  local same = type(retains) == 'number' and text(now + retains)
  local with_results = 0
  for i, number in ipairs(numbers) do
    local n = 2 * i
    scores[n - 1], scores[n] = same or text(now + retains[i]), number
    ended[n - 1], ended[n] = number, time
    if results[i] then
      with_results = with_results + 2
      kept[with_results - 1], kept[with_results] = number, results[i]
    end
  end
  redis.call('HSET', ENDED, ended[1], LONG, unpack(ended))
  if #kept > 0 then redis.call('HSET', RESULTS, kept[1], LONG, unpack(kept)) end
  if redis.call('EXISTS', EXPIRIES) == 1 then redis.call('ZREM', EXPIRIES, unpack(numbers)) end
  redis.call('ZADD', set, unpack(scores))
  forget_marks(numbers)
end
