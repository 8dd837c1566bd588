-- Reads items by their ids: as many of the first ones as fit into a reply and into a step.
-- KEYS  see parts/keys.lua
-- ARGV  [1] 1 with data and results, 0 without, then the ids (1,000)
-- Reply server time, then per id until the reply is full: '' if there is no item, else number, record (without data
--       only its head), details ('' if none), state, the score of that state (deadline, due time, time of death, or until
--       when it is kept; '' if ready or held), when it has ended ('' if it has not), `:` and the result ('' if none), its score
--       in EXPIRIES ('' if none), 1 if its cancellation was requested (else ''), and its packed follow-ups ('' if none)
local reply = { text(now) }
local numbers, known = redis.call('HMGET', IDS, unpack(ARGV, 2)), {}
for _, number in ipairs(numbers) do
  if number then known[#known + 1] = number end
end
local details, records, fits, scores, extras = {}, {}, 0, {}, {}
if #known > 0 then
  details = redis.call('HMGET', DETAILS, unpack(known))
  records, fits = read_records(known, details, MAX_SINGLE)
  extras = { read_extras(known, records, fits, ARGV[1] == '1') }
  fits = extras[6]
  local sets = { leased = LEASED, delayed = DELAYED, dead = DEAD, completed = COMPLETED, cancelled = CANCELLED, held = HELD }
  for state, key in pairs(sets) do scores[state] = redis.call('ZMSCORE', key, unpack(known, 1, fits)) end
end

local n = 0 -- how many of the known ones were looked at
for _, number in ipairs(numbers) do
  if number then
    if n == fits then break end
    n = n + 1
  end
  local state, score, over = 'ready', '', false
  for name, scored in pairs(scores) do
    if number and scored[n] then
      state, score = name, scored[n]
      if name == 'held' then score = '' end -- its rank
      over = (name == 'completed' or name == 'cancelled') and tonumber(score) <= now
    end
  end
  if not number or not records[n] or over then
    reply[#reply + 1] = ''
  else
    local ended, results, expiries, marks, follow_ups = unpack(extras)
    local record = ARGV[1] == '1' and records[n] or head_of(records[n])
    for _, value in ipairs({ number, record, details[n] or '', state, score, ended[n] or '',
      results[n] and ':' .. results[n] or '', expiries[n] or '', marks[n] and '1' or '', follow_ups[n] or '' }) do
      reply[#reply + 1] = value
    end
  end
end
return reply
