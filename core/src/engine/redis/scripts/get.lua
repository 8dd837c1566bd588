-- Reads one item.
-- KEYS  see parts/keys.lua, up to DEAD
-- ARGV  [1] id
-- Reply empty if there is none; else server time, number, record, details ('' if none), state, and the
--       score of that state (deadline, due time or time of death; '' if ready)
local number = redis.call('HGET', IDS, ARGV[1])
local record = number and redis.call('HGET', ITEMS, number)
if not record then return {} end
local reply = { text(now), number, record, redis.call('HGET', DETAILS, number) or '', 'ready', '' }
for state, key in pairs({ leased = LEASED, delayed = DELAYED, dead = DEAD }) do
  local score = redis.call('ZSCORE', key, number)
  if score then reply[5], reply[6] = state, score end
end
return reply
