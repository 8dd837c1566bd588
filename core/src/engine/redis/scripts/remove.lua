-- Removes items by id, in whatever state they are.
-- KEYS  see parts/keys.lua
-- ARGV  [1] lane, [2] number, from [3] what parts/named.lua reads
-- Reply a string: for each 1 (removed) or 0 (there was none), perhaps followed by what parts/end_step.lua has
local done = load_reply()
if done then return done end
local refused = refusal(redis.call('HGET', META, 'format'))
if refused then return refused end

local answers, numbers, ids, known, places, seen = {}, {}, {}, {}, {}, {}
for i, number in ipairs((read_named(3))) do
  answers[i] = number and not seen[number] and '1' or '0'
  if answers[i] == '1' then
    seen[number] = true
    local n = #numbers + 1
    numbers[n], ids[n], known[n], places[n] = number, ARGV[3 + i], true, i
  end
end
if #numbers > 0 then
  local removed = #numbers
  for _, set in ipairs({ COMPLETED, CANCELLED }) do
    for n, kept_until in ipairs(redis.call('ZMSCORE', set, unpack(numbers))) do
      if kept_until and tonumber(kept_until) <= now then answers[places[n]], removed = '0', removed - 1 end
    end
  end
  local details = redis.call('HMGET', DETAILS, unpack(numbers))
  -- Leased items leave their places.
  local leased, their_details = {}, {}
  for n, deadline in ipairs(redis.call('ZMSCORE', LEASED, unpack(numbers))) do
    if deadline then leased[#leased + 1], their_details[#leased + 1] = numbers[n], details[n] end
  end
  if has_events() then
    local gone, their_ids = {}, {}
    for n, place in ipairs(places) do
      if answers[place] == '1' then gone[#gone + 1], their_ids[#gone + 1] = numbers[n], ids[n] end
    end
    note_events('r', gone, their_ids)
  end
  fire_removals(numbers)
  drop_successors(leased)
  local free_places = begin_leaving(leased, keys_of_leases(leased, their_details))
  drop_entries(numbers, details)
  delete_all_of(numbers, ids, known, details, keys_of(numbers, details))
  if free_places then free_places() end
  redis.call('HINCRBY', META, 'removed', text(removed))
  if is_awaited() then
    for n, place in ipairs(places) do ids[n] = answers[place] == '1' and ids[n] end
    report_endings('r', ids)
  end
end
notify_opened()
local answer = table.concat(answers) .. end_step.deferred
save_reply(answer)
return answer
