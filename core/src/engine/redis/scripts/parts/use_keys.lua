-- Makes what parts/key_hooks.lua has, if an item with a key was ever added.
local function use_keys()
  local meta = redis.call('HMGET', META, 'keyed', 'fronts', 'raised')
  if not meta[1] then return end
  first_open, priority_of, pop_above, orders_of, left_front, take_open, is_open, find_keys, hold_blocked, open_raised,
    open_in_time, next_opening = key_functions(meta[2], meta[3])
end
