-- What a lease calls because of keys. It is made if an item with a key was ever added; else all of it is nil.
local first_open, priority_of, pop_above, orders_of, left_front, take_open, is_open, find_keys, hold_blocked
local open_raised, open_in_time, next_opening
