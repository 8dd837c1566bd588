-- Adds items that do not exist yet, in one atomic step.
-- KEYS  see parts/keys.lua, up to the ready list of the highest priority in the batch
-- ARGV  [1] lane, [2] number, [3] salt, [4] count, the ids, the records (id and data as stored; opaque
--       here), the count of items with options, and for each of them: index, priority, delay (see
--       parts/delay.lua), max_attempts (0: no limit)
--       The ids of one call differ from each other.
-- Reply a string: for each item 1 (added) or 0 (exists), then `n` if the add has made the queue
local done = load_reply()
if done then return done end

local count = tonumber(ARGV[4])
local known = redis.call('HMGET', IDS, unpack(ARGV, 5, 4 + count))
local meta = redis.call('HMGET', META, 'last', 'waiting', 'added', 'format')
local refused = refusal(meta[4])
if refused then return refused end
local options = {}
for i = 6 + 2 * count, #ARGV, 4 do options[tonumber(ARGV[i])] = i + 1 end
local answer = add_items(known, options, ARGV[3], count, meta)
save_reply(answer)
return answer
