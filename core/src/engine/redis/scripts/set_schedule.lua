-- Swaps a schedule, without adding an item. Makes the queue if there is none.
-- KEYS  see parts/keys.lua
-- ARGV  [1] lane, [2] number, [3] salt of the incarnation, [4] how many schedules the queue may have, then what
--       parts/swap_schedule.lua reads
-- Reply 1, `n` if the queue is new, `-` (another version is stored), or `f` (the queue has as many as it may have)
local done = load_reply()
if done then return done end
local meta = redis.call('HMGET', META, 'format', 'waiting', 'watched')
local refused = refusal(meta[1])
if refused then return refused end
local entry = redis.call('HGET', SCHEDULES, swap.name)
local version, last_id = read_schedule(entry)
if version ~= swap.expected then return '-' end
if not entry and swap.version ~= '' and redis.call('HLEN', SCHEDULES) >= tonumber(ARGV[4]) then return 'f' end

local answer = '1'
if not meta[1] then
  answer = 'n'
  make_empty_queue(ARGV[3])
end
make_extended(meta[1])
write_schedule(last_id, meta[2], meta[3])
save_reply(answer)
return answer
