-- Buries items that are ready or delayed: they are dead, whatever their limit of attempts. Each is a new generation,
-- so that no earlier holder can complete it, and no entry of a ready list leads to it.
-- KEYS  see parts/keys.lua
-- ARGV  [1] lane, [2] number, [3] salt, from [4] what parts/named.lua reads, then the error text of each
-- Reply a string: for each 1 (buried), 0 (there is none, or it is leased or dead) or - (not executed: ask again),
--       perhaps followed by what parts/end_step.lua has
local done = load_reply()
if done then return done end

local refused = refusal(redis.call('HGET', META, 'format'))
if refused then return refused end
local numbers, last = read_named(4)
local found, answers, items = read_items(numbers, {}, MAX_REPLY), {}, {}
for i, number in ipairs(numbers) do
  local item = number and found[number]
  if not item or item.id or has_passed(item.expires) then
    answers[i] = '0' -- it is dead already, nor is it buried twice
  elseif item.left then
    answers[i] = '-'
  else
    item.id, item.x.error, item.x.front = ARGV[4 + i], ARGV[last + i], 0
    items[#items + 1], answers[i] = item, '1'
  end
end
if #items > 0 then
  renumber(items, ARGV[3], 'd')
  local moves, dead, ids = new_moves(), {}, {}
  for n, item in ipairs(items) do
    moves.at(DEAD, now, item.number)
    dead[n], ids[n] = item.number, item.id
  end
  fire_deaths(dead)
  moves.write()
  redis.call('ZREM', EXPIRIES, unpack(dead))
  redis.call('HINCRBY', META, 'died', #items)
  report_endings('d', ids)
end
local answer = table.concat(answers) .. end_step.deferred
save_reply(answer)
return answer
