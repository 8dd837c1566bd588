-- Completes items: each is gone for good, for exactly one caller.
-- KEYS  see parts/keys.lua, up to DEAD
-- ARGV  [1] lane, [2] number, [3] count, then per item: number, id, delivery, then the indexes of the
--       strict ones
-- Reply a string: for each item 1 (true: completed by this call) or 0 (false)
local done = recall()
if done then return done end

local count = tonumber(ARGV[3])
local numbers, ids, strict = {}, {}, {}
for i = 1, count do numbers[i], ids[i] = ARGV[1 + 3 * i], ARGV[2 + 3 * i] end
for i = 4 + 3 * count, #ARGV do strict[tonumber(ARGV[i])] = true end

-- An item that came back since has another delivery; one with the caller's is leased, if it exists.
local extras = read_extras(numbers)
local stale, any_stale = {}, false
for i = 1, count do
  if delivery_of(extras and extras[i]) ~= ARGV[3 + 3 * i] then stale[i], any_stale = true, true end
end

local answers, completed = {}, 0
if not any_stale and redis.call('ZREM', LEASED, unpack(numbers)) == count then
  redis.call('HDEL', ITEMS, unpack(numbers))
  redis.call('HDEL', IDS, unpack(ids))
  if extras then redis.call('HDEL', EXTRA, unpack(numbers)) end
  completed = count
  answers[1] = string.rep('1', count)
else
  for i = 1, count do
    local gone = not (stale[i] and strict[i]) and forget(numbers[i], ids[i], not stale[i])
    answers[i] = gone and '1' or '0'
    if gone then completed = completed + 1 end
  end
end
if completed > 0 then redis.call('HINCRBY', META, 'completed', completed) end
local answer = table.concat(answers)
remember(answer)
return answer
