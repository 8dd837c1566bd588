-- Swapping a schedule. The last arguments are its name, the version that must be stored ('': none), the new version
-- ('': it is deleted), the body, when it is due ('': never), and 1 if its item is not added while the last one has not
-- ended, else 0. They are removed from ARGV.
local swap = {}
for _, field in ipairs({ 'unless_live', 'due', 'body', 'version', 'expected', 'name' }) do
  swap[field] = table.remove(ARGV)
end

-- The entry comes after the time: until then nobody has swapped it, and the step can be repeated. `waiting` and
-- `watched`: as in META.
local function write_schedule(last_id, waiting, watched)
  if swap.due == '' or swap.version == '' then
    redis.call('ZREM', TICKS, swap.name)
  else
    redis.call('ZADD', TICKS, swap.due, swap.name)
  end
  if swap.version == '' then
    redis.call('HDEL', SCHEDULES, swap.name)
  else
    redis.call('HSET', SCHEDULES, swap.name, swap.version .. struct.pack('>I2', #last_id) .. last_id .. swap.body)
  end
  if swap.due ~= '' then
    notify_workers(waiting, tonumber(swap.due))
    notify_cleaner(watched, tonumber(swap.due))
  end
end
