-- Makes dead items ready again, at the back of their priority, with their attempts counted from 0. They expire no more.
-- Ready items that have expired, which no sweep has found yet, keep their places.
-- KEYS  see parts/keys.lua, all
-- ARGV  [1] lane, [2] number, from [3] what parts/named.lua reads
-- Reply a string: for each 1 (requeued) or 0 (there is none, it is not dead, or its unique key is taken)
local done = load_reply()
if done then return done end
local refused = refusal(redis.call('HGET', META, 'format'))
if refused then return refused end

local answers, numbers, places, seen = {}, {}, {}, {}
for i, number in ipairs((read_named(3))) do
  answers[i] = '0'
  if number and not seen[number] then
    seen[number] = true
    numbers[#numbers + 1], places[#places + 1] = number, i
  end
end
if #numbers > 0 then
  local dead, details = redis.call('ZMSCORE', DEAD, unpack(numbers)), redis.call('HMGET', DETAILS, unpack(numbers))
  local revived, changed, moves = {}, {}, new_moves()
  local delayed, leased = redis.call('ZMSCORE', DELAYED, unpack(numbers)), redis.call('ZMSCORE', LEASED, unpack(numbers))
  local expired = redis.call('ZMSCORE', EXPIRIES, unpack(numbers))
  for i = 1, #numbers do expired[i] = has_passed(expired[i]) and not leased[i] end
  local keys, entries, taken, lost = redis.call('HMGET', OWNED, unpack(numbers)), {}, {}, {}
  local wanted, owner_of = {}, {}
  for i, key in ipairs(keys) do
    if key and (dead[i] or expired[i]) then wanted[#wanted + 1] = key end
  end
  for n, owner in ipairs(#wanted > 0 and find_owners(wanted) or {}) do owner_of[wanted[n]] = owner end
  for i, number in ipairs(numbers) do
    local key = keys[i]
    if (dead[i] or expired[i]) and not (key and (taken[key] or is_taken(owner_of[key], number))) then
      if key then
        taken[key] = true
        local owner = owner_of[key]
        if owner and owner.expired and owner.number ~= number then lost[#lost + 1] = owner.number end
        entries[#entries + 1] = key
        entries[#entries + 1] = number .. ':' .. ARGV[3 + places[i]]
      end
      local x = unpack_details(details[i])
      x.failures, x.expiries, x.front, x.since = 0, 0, 0, now
      note_release(x, '=')
      answers[places[i]] = '1'
      revived[#revived + 1] = number
      changed[#changed + 1] = number
      changed[#changed + 1] = pack_details(x)
      if dead[i] or delayed[i] then moves.to_back(x.priority, number) end
    end
  end
  if #revived > 0 then
    expire_for_good(lost)
    if #entries > 0 then redis.call('HSET', UNIQUES, unpack(entries)) end
    for _, key in ipairs({ EXPIRIES, DEAD, DELAYED }) do redis.call('ZREM', key, unpack(revived)) end
    redis.call('HSET', DETAILS, unpack(changed))
    moves.write()
    notify_workers(redis.call('HGET', META, 'waiting'), now)
  end
end
local answer = table.concat(answers)
save_reply(answer)
return answer
