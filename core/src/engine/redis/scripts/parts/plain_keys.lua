-- In a plain queue no item has a key. See parts/read_places.lua.
local has_keys, first_open, priority_of, pop_above, orders_of, left_front, take_open, is_open, find_keys, hold_blocked
local open_raised, open_in_time, next_opening, notify_opened, begin_leaving, key_step, note_leased
