-- Moves due and expired items, opens keys after the limit was raised or in time, and deletes retained items whose time is
-- over, what is used up of rates that have refilled, and what the settings allow no longer, in one bounded step.
-- KEYS  see parts/keys.lua
-- ARGV  [1] lane, [2] number, [3] at most how many items of each kind (500)
-- Reply a string: promoted, expired, died, removed because of the settings, 1 if there may be more to do at once, ms until
--       the next is due, its lease expires, or there is something to delete (-1: nothing is; 0: more to do)
local done = load_reply()
if done then return done end
local refused = refusal(redis.call('HGET', META, 'format'))
if refused then return refused end

local promoted, expired, died = move_due(tonumber(ARGV[3]))
local raised = open_raised(250) -- a call for each; the sweep makes up to 500
open_in_time()
if promoted + expired > died or key_step.opened then notify_workers(redis.call('HGET', META, 'waiting'), now) end
local more, removed = sweep(tonumber(ARGV[3]), MAX_REPLY)
more = drop_refilled(tonumber(ARGV[3])) or more
local settings = read_settings()
if settings.max_dead or settings.max_retained then redis.call('HSET', META, 'swept', text(now)) end
local due = earlier(next_due(), next_sweep())
local due_in = due and math.max(0, due - now) or -1
local answer = string.format('%d %d %d %d %d %d', promoted, expired, died, removed, (more or raised) and 1 or 0, due_in)
save_reply(answer)
return answer
