-- Adds what is `found`: gives numbers, writes entries for other queues, and puts the arguments of add.lua into ARGV. `first`,
-- `first_item`: numbers, if a mark has some; `salt`: of others.
local note_count
first, first_item, note_count = reserve_numbers(found, first, first_item, salt)
write_entries(found.entries, first)
local function drop_notes()
  redis.call('LTRIM', DEFERRED, note_count, -1)
  note_count = 0
end

local function end_notes()
  if note_count > 0 then drop_notes() end
  -- Nothing leads to these any more.
  if #found.done > 0 then redis.call('HDEL', FOLLOW_UPS, unpack(found.done)) end
  if found.left[1] then redis.call('ZREM', MEMBERS, unpack(found.left)) end
end
