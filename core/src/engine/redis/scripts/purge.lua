-- Removes items of one state, oldest first, one bounded step of it.
-- KEYS  see parts/keys.lua, all
-- ARGV  [1] lane, [2] number, [3] state: ready, delayed, leased or dead, [4] at most how many (1,000)
-- Reply a string: how many were removed, and how many were looked at (0: the state is empty)
local done = recall()
if done then return done end

local sets = { delayed = DELAYED, leased = LEASED, dead = DEAD }
local largest = math.max(1, tonumber(redis.call('HGET', META, 'largest')) or 1)
local chunk = math.min(tonumber(ARGV[4]), math.max(1, math.floor(16777216 / largest)))
local numbers, ready
if sets[ARGV[3]] then
  numbers = redis.call('ZRANGE', sets[ARGV[3]], 0, chunk - 1)
else
  local popped = redis.call('LMPOP', 10, KEYS[11], KEYS[12], KEYS[13], KEYS[14], KEYS[15], KEYS[16],
    KEYS[17], KEYS[18], KEYS[19], KEYS[20], 'RIGHT', 'COUNT', chunk)
  numbers = popped and popped[2] or {}
  ready = popped and (string.match(popped[1], ':ready:(%d)$') or '0')
end
local removed = 0
if #numbers > 0 then
  local records = redis.call('HMGET', ITEMS, unpack(numbers))
  for i, number in ipairs(numbers) do
    -- A record starts with the length of the id, two bytes, and the id.
    local record = records[i]
    local id = record and string.sub(record, 3, 2 + struct.unpack('>I2', record))
    if id and forget(number, id) then removed = removed + 1 end
  end
  -- `forget` counts a tombstone for each ready item; none is left here, and those popped are gone.
  if ready then redis.call('HINCRBY', META, 'gone:' .. ready, -#numbers)
  elseif removed < #numbers then redis.call('ZREM', sets[ARGV[3]], unpack(numbers)) end
  if removed > 0 then redis.call('HINCRBY', META, 'removed', removed) end
end
local answer = removed .. ' ' .. #numbers
remember(answer)
return answer
