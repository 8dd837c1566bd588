-- Names for the keys of one queue, in the order in which `keys.rs` sends them.
-- A script is sent only as many of them as it uses, so the rarely used ones come last.
-- The ready lists are the tail: KEYS[11] for priority 0 up to KEYS[20] for priority 9. In a Cluster one
-- more follows, which never exists (`keys.rs` says what for).
local LANES, META, ITEMS, IDS, LEASED = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local EXTRA, WAKE, DELAYED, DEAD, DUE = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local READY = 11
local ARGV = ARGV -- loops read it for every item, and a global is looked up by its name
