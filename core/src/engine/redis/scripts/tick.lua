-- Swaps a schedule and adds its items, in one atomic step.
-- KEYS  see parts/keys.lua, all
-- ARGV  as for add.lua, with what extended queues know, then what parts/swap_schedule.lua reads
-- Reply as that of add.lua, or `-` (another version is stored), or `s` (swapped, but the last item of the schedule has not
--       ended)
for i = 1, count do
  -- If it exists already, this step was stopped half-way before.
  local id = ARGV[4 + i]
  if string.sub(answer, i, i) == '1' or redis.call('HEXISTS', IDS, id) == 1 then last_id = id end
end
write_schedule(last_id, meta[2], redis.call('HGET', META, 'watched'))
save_reply(answer)
return answer
