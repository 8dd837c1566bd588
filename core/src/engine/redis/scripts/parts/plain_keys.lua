-- In a plain queue no item has a key, and no events are kept. See parts/read_places.lua.
local use_keys, notify_opened, begin_leaving, key_step, note_leased
