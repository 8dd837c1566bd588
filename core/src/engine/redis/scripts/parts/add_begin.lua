-- The beginning of an add: what it reads. `known`: for each item the number of the one that has its id, or false;
-- `count_before`: that of the number before the first item, if its numbers are reserved; `forwarded`: see
-- parts/forward_begin.lua.
local done = load_reply()
if done then return done end

local count, count_before, forwarded = tonumber(ARGV[4]), nil, nil
local known = redis.call('HMGET', IDS, unpack(ARGV, 5, 4 + count))
local meta = redis.call('HMGET', META, 'last', 'waiting', 'added', 'format')
local refused = refusal(meta[4])
if refused then return refused end
