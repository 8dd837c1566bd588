-- In a plain queue no item has a key. See parts/read_places.lua.
local has_keys, first_open, pop_above, take_open, is_open, find_keys, hold_blocked, open_raised, notify_opened
