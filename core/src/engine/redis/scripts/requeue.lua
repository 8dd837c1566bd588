-- Makes dead items ready again, at the back of their priority, with their attempts counted from 0. They expire no more.
-- Ready items that have expired, which no sweep has found yet, keep their places.
-- KEYS  see parts/keys.lua
-- ARGV  [1] lane, [2] number, from [3] what parts/named.lua reads
-- Reply a string: for each 1 (requeued), 0 (there is none, it is not dead, or its unique key is taken) or - (not
--       executed: ask again), perhaps followed by what parts/end_step.lua has
local done = load_reply()
if done then return done end
local refused = refusal(redis.call('HGET', META, 'format'))
if refused then return refused end

local numbers = read_named(3)
local found, answers, keys, owner_of = read_items(numbers, { dead = true }, MAX_REPLY), {}, {}, {}
for _, item in pairs(found) do
  if item.key and (item.dead or has_passed(item.expires)) then keys[#keys + 1] = item.key end
end
for n, owner in ipairs(#keys > 0 and find_owners(keys) or {}) do owner_of[keys[n]] = owner end
-- The keys of successors are taken.
local fields, waits = {}, {}
for n, key in ipairs(keys) do fields[n] = '!' .. key end
for n, leased in ipairs(#keys > 0 and redis.call('HMGET', SUCCESSORS, unpack(fields)) or {}) do waits[keys[n]] = leased end

local revived, changed, entries, taken, lost, dying, moves = {}, {}, {}, {}, {}, {}, new_moves()
local named, followed = {}, {} -- of those with follow-ups, the names and numbers
for i, number in ipairs(numbers) do
  local item = number and found[number]
  local owner = item and item.key and owner_of[item.key]
  answers[i] = '0'
  if item and item.left then
    answers[i] = '-'
  elseif item and not item.id and (item.dead or has_passed(item.expires))
    and not (item.key and taken[item.key]) and not waits[item.key or ''] and not is_taken(owner, number) then
    item.id, answers[i] = ARGV[3 + i], '1'
    if item.key then
      taken[item.key] = true
      if owner and owner.expired and owner.number ~= number then lost[#lost + 1] = owner.number end
      entries[#entries + 1] = item.key
      entries[#entries + 1] = number
    end
    local x = item.x
    x.failures, x.expiries, x.front, x.since = 0, 0, 0, now
    note_release(x, '=')
    revived[#revived + 1] = number
    if item.follow_ups then named[#named + 1], followed[#named + 1] = item.follow_ups, number end
    if not item.dead then dying[#dying + 1] = number end -- it has expired: it dies first
    changed[#changed + 1] = number
    changed[#changed + 1] = pack_details(x)
    if item.dead or item.delayed then moves.to_back(x.priority, number) end
  end
end
if #revived > 0 then
  if has_events() then
    local ids = {}
    for n, number in ipairs(revived) do ids[n] = found[number].id end
    note_events('q', revived, ids)
  end
  fire_deaths(dying)
  note_requeued(named, followed)
  expire_for_good(lost)
  if #entries > 0 then redis.call('HSET', UNIQUES, unpack(entries)) end
  for _, key in ipairs({ EXPIRIES, DEAD, DELAYED }) do redis.call('ZREM', key, unpack(revived)) end
  redis.call('HSET', DETAILS, unpack(changed))
  moves.write()
  notify_workers(redis.call('HGET', META, 'waiting'), now)
end
local answer = table.concat(answers) .. end_step.deferred
save_reply(answer)
return answer
