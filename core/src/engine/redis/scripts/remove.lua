-- Removes items by id, in whatever state they are.
-- KEYS  see parts/keys.lua, up to DEAD
-- ARGV  [1] lane, [2] number, then the ids
-- Reply a string: for each id 1 (removed) or 0 (there was none)
local done = recall()
if done then return done end

local answers, removed = {}, 0
for i = 3, #ARGV do
  local number = redis.call('HGET', IDS, ARGV[i])
  local gone = number and forget(number, ARGV[i])
  answers[#answers + 1] = gone and '1' or '0'
  if gone then removed = removed + 1 end
end
if removed > 0 then redis.call('HINCRBY', META, 'removed', removed) end
local answer = table.concat(answers)
remember(answer)
return answer
