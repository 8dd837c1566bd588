-- The beginning of an add, as parts/add_begin.lua.
if #found.items == 0 then return finish() end
add_arguments(found.items, string.sub(first_item, -SALT), found.twice)
local count, count_before, forwarded = #found.items, count_of(first_item) - 1, nil
local known = redis.call('HMGET', IDS, unpack(ARGV, 5, 4 + count))
local meta = redis.call('HMGET', META, 'last', 'waiting', 'added', 'format')
