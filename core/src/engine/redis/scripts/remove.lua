-- Removes items by id, in whatever state they are.
-- KEYS  see parts/keys.lua, up to DEAD
-- ARGV  [1] lane, [2] number, from [3] what parts/named.lua reads
-- Reply a string: for each 1 (removed) or 0 (there was none)
local done = load_reply()
if done then return done end

local answers, numbers, ids, known = {}, {}, {}, {}
local seen = {}
for i, number in ipairs((read_named(3))) do
  answers[i] = number and not seen[number] and '1' or '0'
  if answers[i] == '1' then
    seen[number] = true
    numbers[#numbers + 1], ids[#ids + 1], known[#known + 1] = number, ARGV[3 + i], true
  end
end
if #numbers > 0 then
  local removed = delete_items(numbers, ids, known, redis.call('HMGET', DETAILS, unpack(numbers)), 0)
  redis.call('HINCRBY', META, 'removed', text(removed))
end
local answer = table.concat(answers)
save_reply(answer)
return answer
