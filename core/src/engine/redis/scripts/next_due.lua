-- Reads when the next item is due or its lease expires, a schedule is due, or there is something to delete. If not now, the
-- caller promises to look again then, or after its rest. A script that makes an item due before that pushes a token to DUE.
-- KEYS  see parts/keys.lua
-- ARGV  [1] the longest rest, in ms
-- Reply ms until something is due or expires (-1: nothing; 0: now), and 1 if the outbox has entries, else 0
local tick, is_to_forward = next_tick()
local forwards = is_to_forward and 1 or 0
if redis.call('HGET', META, 'raised') then return { 0, forwards } end
local due = earlier(earlier(next_due(), next_sweep()), tick)
if due and due <= now then return { 0, forwards } end
local look = now + ARGV[1]
if due and due < look then look = due end
redis.call('HSET', META, 'watched', text(look))
if not redis.call('HGET', META, 'format') then redis.call('PEXPIRE', META, DAY) end
return { due and due - now or -1, forwards }
