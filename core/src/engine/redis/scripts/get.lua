-- Reads items by their ids: as many of the first ones as fit into a reply and into a step.
-- KEYS  see parts/keys.lua, up to DEAD
-- ARGV  [1] 1 with data, 0 without, then the ids (1,000)
-- Reply server time, then per id until the reply is full: '' if there is no item, else number, record ('' without
--       data), details ('' if none), state, and the score of that state (deadline, due time or time of death; ''
--       if ready)
local reply = { text(now) }
local numbers, known = redis.call('HMGET', IDS, unpack(ARGV, 2)), {}
for _, number in ipairs(numbers) do
  if number then known[#known + 1] = number end
end
local details, records, fits, scores = {}, {}, 0, {}
if #known > 0 then
  details = redis.call('HMGET', DETAILS, unpack(known))
  if ARGV[1] == '1' then
    records, fits = read_records(known, details)
  else
    fits = math.min(#known, MAX_SINGLE)
    for i = 1, fits do records[i] = redis.call('HEXISTS', ITEMS, known[i]) == 1 and '' end
  end
  for state, key in pairs({ leased = LEASED, delayed = DELAYED, dead = DEAD }) do
    scores[state] = redis.call('ZMSCORE', key, unpack(known, 1, fits))
  end
end

local n = 0 -- how many of the known ones were looked at
for _, number in ipairs(numbers) do
  if number then
    if n == fits then break end
    n = n + 1
  end
  if not number or not records[n] then
    reply[#reply + 1] = ''
  else
    local state, score = 'ready', ''
    for name, scored in pairs(scores) do
      if scored[n] then state, score = name, scored[n] end
    end
    for _, value in ipairs({ number, records[n], details[n] or '', state, score }) do reply[#reply + 1] = value end
  end
end
return reply
