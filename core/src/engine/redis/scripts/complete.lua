-- Completes items: each is gone for good, for exactly one caller.
-- KEYS  see parts/keys.lua, up to DEAD
-- ARGV  [1] lane, [2] number, [3] count, the numbers, the ids, then how many are no first delivery, for
--       each of them index and delivery, then the indexes of the strict ones
-- Reply a string: for each item 1 (true: completed by this call) or 0 (false)
local done = recall()
if done then return done end

local count = tonumber(ARGV[3])
local first, last = 4, 3 + count -- the numbers, which are as many as the ids after them
local deliveries, strict, rest = {}, {}, 4 + 2 * count
local later = tonumber(ARGV[rest])
for i = rest + 1, rest + 2 * later, 2 do deliveries[tonumber(ARGV[i])] = ARGV[i + 1] end
for i = rest + 2 * later + 1, #ARGV do strict[tonumber(ARGV[i])] = true end

-- An item that came back since has another delivery; one with the caller's is leased, if it exists.
local extras = redis.call('EXISTS', EXTRA) == 1 and redis.call('HMGET', EXTRA, unpack(ARGV, first, last))
local stale, any_stale = {}, false
if extras or later > 0 then
  for i = 1, count do
    if delivery_of(extras and extras[i]) ~= (deliveries[i] or '0') then stale[i], any_stale = true, true end
  end
end

local answers, completed = {}, 0
if not any_stale and redis.call('ZREM', LEASED, unpack(ARGV, first, last)) == count then
  redis.call('HDEL', ITEMS, unpack(ARGV, first, last))
  redis.call('HDEL', IDS, unpack(ARGV, last + 1, last + count))
  if extras then redis.call('HDEL', EXTRA, unpack(ARGV, first, last)) end
  completed = count
  answers[1] = string.rep('1', count)
else
  for i = 1, count do
    local gone = not (stale[i] and strict[i]) and forget(ARGV[3 + i], ARGV[last + i], not stale[i])
    answers[i] = gone and '1' or '0'
    if gone then completed = completed + 1 end
  end
end
if completed > 0 then redis.call('HINCRBY', META, 'completed', text(completed)) end
local answer = table.concat(answers)
remember(answer)
return answer
