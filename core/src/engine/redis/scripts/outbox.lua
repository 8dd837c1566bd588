-- Deletes entries of the outbox that were delivered, and reads the first ones of the next queue.
-- KEYS  see parts/keys.lua
-- ARGV  [1] the queue behind which to look, '' for the first one, [2] how many queues to pass by, and their names, then the
--       entries to delete
-- Reply empty if there are no entries; else the incarnation of this queue, the name of the other one, then for each entry, in
--       their order: entry, and packed item ('' if it is lost). At most MOST of them, and ROOM bytes, but at least one
local MOST, ROOM = 1000, 1048576
local passes, to_delete = tonumber(ARGV[2]), { unpack(ARGV, 3 + ARGV[2]) }
if #to_delete > 0 then
  redis.call('ZREM', OUTBOX, unpack(to_delete))
  redis.call('HDEL', OUTGOING, unpack(to_delete))
end
local is_passed = {}
for i = 3, 2 + passes do is_passed[ARGV[i]] = true end

-- Names have no character up to `!`.
local after, looked, queue = ARGV[1], 0
repeat
  queue = redis.call('ZRANGE', OUTBOX, '[' .. after .. '!', '+', 'BYLEX', 'LIMIT', 0, 1)[1]
  queue = queue and (string.match(queue, '^[^ ]+') or '')
  after, looked = queue, looked + 1
until not queue or not is_passed[queue] or looked > passes
if not queue or is_passed[queue] then return {} end

local entries, damaged, room = {}, {}, ROOM
for _, entry in ipairs(redis.call('ZRANGE', OUTBOX, '[' .. queue .. ' ', '[' .. queue .. '!', 'BYLEX', 'LIMIT', 0, MOST)) do
  local known, _, size = read_entry(entry)
  room = room - (size or 0)
  if room < 0 and #entries > 0 then break end
  local list = known and entries or damaged
  list[#list + 1] = entry
end
if #damaged > 0 then redis.call('ZREM', OUTBOX, unpack(damaged)) end
-- Whoever forwards what others have written waits for replicas to have that.
if #to_delete == 0 then touch() end
local reply = { redis.call('HGET', META, 'incarnation') or '', queue }
for i, packed in ipairs(#entries > 0 and redis.call('HMGET', OUTGOING, unpack(entries)) or {}) do
  reply[#reply + 1] = entries[i]
  reply[#reply + 1] = packed or ''
end
return reply
