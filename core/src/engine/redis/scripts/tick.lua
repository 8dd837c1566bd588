-- Swaps a schedule and adds its items, in one atomic step.
-- KEYS  see parts/keys.lua
-- ARGV  as for add.lua, with what extended queues know, then what parts/swap_schedule.lua reads
-- Reply as that of add.lua, or `-` (another version is stored), or `s` (swapped, but the last item of the schedule has not
--       ended)
-- One that existed already was added by this step, stopped half-way before.
for i, number in ipairs(redis.call('HMGET', IDS, unpack(ARGV, 5, 4 + count))) do
  if number then last_id = ARGV[4 + i] end
end
write_schedule(last_id, meta[2], redis.call('HGET', META, 'watched'))
save_reply(answer)
return answer
