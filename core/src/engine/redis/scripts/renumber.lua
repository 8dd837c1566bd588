-- Gives entries new numbers, because their lane is not known any more, and they are older than what was forgotten with it.
-- KEYS  see parts/keys.lua
-- ARGV  [1] salt, [2] the queue for which they are, [3] the count that is `forgotten` there
-- Reply how many
local MOST = 250
local queue, forgotten = ARGV[2], tonumber(ARGV[3])
local known = redis.call('HGET', META, 'last')
local last = math.max(known and count_of(known) or 0, (now - YEAR_2026) * 256, forgotten)
local old = {}
for _, entry in ipairs(redis.call('ZRANGE', OUTBOX, '[' .. queue .. ' ', '[' .. queue .. '!', 'BYLEX', 'LIMIT', 0, MOST)) do
  local _, number = read_entry(entry)
  if number and count_of(number) <= forgotten then old[#old + 1] = entry end
end
if #old == 0 then
  touch()
  return 0
end
-- The new number is written before all else: if this step stops, it is the same the next time.
local marks, fields, members, gone = {}, {}, {}, {}
for i, entry in ipairs(old) do marks[i] = '>' .. entry end
local given, packed = redis.call('HMGET', OUTGOING, unpack(marks)), redis.call('HMGET', OUTGOING, unpack(old))
for i, entry in ipairs(old) do
  if not given[i] then last = last + 1 end
  local new = given[i] or entry_of_outbox(queue, last, ARGV[1], #(packed[i] or ''))
  for _, value in ipairs({ marks[i], new, new, packed[i] or '' }) do fields[#fields + 1] = value end
  members[2 * i - 1], members[2 * i] = '0', new
  gone[#gone + 1], gone[#gone + 2] = entry, marks[i]
end
redis.call('HSET', META, 'last', in_base_36(last) .. ARGV[1])
redis.call('HSET', OUTGOING, unpack(fields))
redis.call('ZADD', OUTBOX, unpack(members))
redis.call('ZREM', OUTBOX, unpack(old))
redis.call('HDEL', OUTGOING, unpack(gone))
return #old
