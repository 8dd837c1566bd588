-- Makes dead items ready again, at the back of their priority, with their attempts counted anew.
-- KEYS  see parts/keys.lua, all
-- ARGV  [1] lane, [2] number, then the ids
-- Reply a string: for each id 1 (requeued) or 0 (there is none, or it is not dead)
local done = recall()
if done then return done end

local answers, revived, moves = {}, 0, collect()
for i = 3, #ARGV do
  local number = redis.call('HGET', IDS, ARGV[i])
  local dead = number and redis.call('ZREM', DEAD, number) == 1
  answers[#answers + 1] = dead and '1' or '0'
  if dead then
    local x = unpack_extra(redis.call('HGET', EXTRA, number))
    x.failures, x.expiries, x.front, x.since = 0, 0, 0, now
    redis.call('HSET', EXTRA, number, pack_extra(x))
    moves.to_back(x.priority, number)
    revived = revived + 1
  end
end
if revived > 0 then
  moves.write()
  wake_before(redis.call('HGET', META, 'waiting'), now)
end
local answer = table.concat(answers)
remember(answer)
return answer
