-- Cancels items: see parts/cancel_items.lua.
-- KEYS  see parts/keys.lua
-- ARGV  [1] lane, [2] number, [3] salt, from [4] what parts/named.lua reads
-- Reply a string: for each 1 (cancelled, or leased and marked), 0 (there is none, or it has ended) or - (not executed:
--       ask again), perhaps followed by what parts/end_step.lua has
local done = load_reply()
if done then return done end

local meta = redis.call('HMGET', META, 'format', 'cancels')
local refused = refusal(meta[1])
if refused then return refused end
local numbers = read_named(4)
local found = read_items(numbers, { leased = true }, MAX_REPLY)
local answers = cancel_items(numbers, { unpack(ARGV, 5, 4 + #numbers) }, found, meta[1], meta[2], ARGV[3])
local answer = table.concat(answers) .. end_step.deferred
save_reply(answer)
return answer
