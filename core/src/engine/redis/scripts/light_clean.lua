-- Moves due and expired items, in one bounded step.
-- KEYS  see parts/keys.lua, all
-- ARGV  [1] lane, [2] number, [3] at most how many items of each kind (500)
-- Reply a string: promoted, expired, died, ms until the next is due or expires (-1: nothing is; 0: more to do)
local done = load_reply()
if done then return done end

local promoted, expired, died = move_due(tonumber(ARGV[3]))
if promoted + expired > died then notify_workers(redis.call('HGET', META, 'waiting'), now) end
local due = next_due()
local answer = string.format('%d %d %d %d', promoted, expired, died, due and math.max(0, due - now) or -1)
save_reply(answer)
return answer
