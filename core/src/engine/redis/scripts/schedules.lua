-- Reads schedules.
-- KEYS  see parts/keys.lua
-- ARGV  [1] `named`, `due` or `after`, [2] a name, [3] 1 to read whole bodies, 0 to read them up to their first line feed
-- Reply server time, when the first schedule is due that is not due yet ('' if none will be), what is left of follow-ups (see
--       parts/what_is_left.lua); then for each schedule: name, version ('' if its entry cannot be read), stored id of its
--       last item ('': none), when it is due ('': never), body. As many as a reply with their bodies may have, at least one, and
--       at most 100
local MOST = 100
local names
if ARGV[1] == 'named' then
  names = { ARGV[2] }
elseif ARGV[1] == 'due' then
  names = redis.call('ZRANGE', TICKS, '-inf', text(now), 'BYSCORE', 'LIMIT', 0, MOST)
else
  names = {}
  for _, name in ipairs(redis.call('HKEYS', SCHEDULES)) do
    if name > ARGV[2] then names[#names + 1] = name end
  end
  table.sort(names)
end
local next_tick = redis.call('ZRANGE', TICKS, '(' .. text(now), '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')[2]
local reply, room = { now, next_tick or '', what_is_left() }, MAX_REPLY
for i = 1, math.min(#names, MOST) do
  local name = names[i]
  room = room - redis.call('HSTRLEN', SCHEDULES, name)
  if room < 0 and i > 1 then break end
  local entry, due = redis.call('HGET', SCHEDULES, name), redis.call('ZSCORE', TICKS, name)
  if entry or due then
    local version, last_id, body = read_schedule(entry)
    if body and ARGV[3] == '0' then body = string.sub(body, 1, string.find(body, '\n', 1, true) or 0) end
    for _, value in ipairs({ name, version, last_id, due or '', body or '' }) do reply[#reply + 1] = value end
  end
end
return reply
