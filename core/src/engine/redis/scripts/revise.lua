-- Changes items that are not leased. Each is a new generation, in the state that it had: only a delay moves it from
-- ready to delayed or back. A ready item goes to the back of its priority.
-- KEYS  see parts/keys.lua
-- ARGV  [1] lane, [2] number, [3] salt, from [4] what parts/named.lua reads, then for each: `=` and its data, priority,
--       delay (see parts/delay.lua) and max_attempts; '' for what stays as it is
-- Reply a string: for each 1 (revised), 0 (there is none, or it is leased, or it is dead and there is a delay) or -
--       (not executed: ask again)
local done = load_reply()
if done then return done end

local meta = redis.call('HMGET', META, 'format', 'waiting', 'watched')
local refused = refusal(meta[1])
if refused then return refused end
local numbers, last = read_named(4)
local found, answers, items = read_items(numbers, { dead = true }, MAX_REPLY), {}, {}

-- Changes the item as the arguments from ARGV[at] on say. It may be changed more than once.
local function change(item, at)
  local x = item.x
  local data, priority, delay, max_attempts = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  if data ~= '' then item.record = string.sub(item.record, 1, item.data_at - 1) .. string.sub(data, 2) end
  if priority ~= '' then x.priority = tonumber(priority) end
  if max_attempts ~= '' then x.max_attempts = tonumber(max_attempts) end
  if delay ~= '' then
    delay = delay_of(tonumber(delay))
    item.due, x.front, x.since = delay > 0 and now + delay, 0, now + delay
  elseif item.due == nil then
    item.due = item.delayed and tonumber(item.delayed)
    if not item.due and not item.dead then x.since = now end
  end
end

for i, number in ipairs(numbers) do
  local item, at = number and found[number], last + 4 * i - 3
  local expected = ARGV[4 + #numbers + i] ~= ''
  if item and item.left then
    answers[i] = '-'
  elseif not item or (item.dead or has_passed(item.expires)) and ARGV[at + 2] ~= '' or item.changed and expected then
    answers[i] = '0' -- the second change of an item is one of another generation
  else
    change(item, at)
    item.id, item.changed, answers[i] = ARGV[4 + i], i, '1'
  end
end
-- In the order of their last changes.
for i, number in ipairs(numbers) do
  if number and found[number] and found[number].changed == i then items[#items + 1] = found[number] end
end
if #items > 0 then
  renumber(items, ARGV[3], 'v')
  local moves, soonest, first_due = new_moves(), nil, nil
  for _, item in ipairs(items) do
    if item.dead then
      moves.at(DEAD, tonumber(item.dead), item.number)
    else
      if item.due then
        moves.at(DELAYED, item.due, item.number)
        first_due = math.min(first_due or item.due, item.due)
      else
        moves.to_back(item.x.priority, item.number)
      end
      soonest = math.min(soonest or item.due or now, item.due or now)
    end
  end
  moves.write()
  if soonest then notify_workers(meta[2], math.max(soonest, now)) end
  if first_due then notify_cleaner(meta[3], first_due) end
end
local answer = table.concat(answers)
save_reply(answer)
return answer
