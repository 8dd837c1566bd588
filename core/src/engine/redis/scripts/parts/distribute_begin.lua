-- The beginning of distribute.lua: reads notes, writes entries for other queues, and puts the arguments of add.lua into ARGV.
local refused = refusal(redis.call('HGET', META, 'format'))
if refused then return refused end
local found = collect()
local items, note_count, done = found.items, found.count, found.done
if #found.entries > 0 then note_count = write_entries(found.entries, found.first, note_count, ARGV[1]) end
local function drop_notes()
  redis.call('LTRIM', DEFERRED, note_count, -1)
  note_count = 0
end
-- Nothing leads to these any more.
local function forget()
  if #done > 0 then redis.call('HDEL', FOLLOW_UPS, unpack(done)) end
end

if #items == 0 then
  if note_count > 0 then drop_notes() end
  forget()
  return what_is_left()
end

add_arguments(items, ARGV[1], found.twice)
local count = #items
local known = redis.call('HMGET', IDS, unpack(ARGV, 5, 4 + count))
local meta = redis.call('HMGET', META, 'last', 'waiting', 'added', 'format')
