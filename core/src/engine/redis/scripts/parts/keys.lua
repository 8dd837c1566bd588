-- Names for the keys of one queue, in the order of `keys.rs`. A script gets only as many keys as it uses,
-- so the rarely used ones come last. The ready lists are at the end: KEYS[11] for priority 0 to KEYS[20]
-- for priority 9. In a Cluster one more key follows, which never exists (see `keys.rs`).
local LANES, META, ITEMS, IDS, LEASED = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local DETAILS, WAKE, DELAYED, DEAD, DUE = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local READY = 11
local ARGV = ARGV -- a local is faster in loops than a global

-- The server keeps a hash of up to 512 fields with short values as a list, and searches it from the start for each field. A
-- value that is too long for such a list turns the hash into a table, which it stays until it is empty. So whoever fills a
-- hash writes this to the first field, and then, in the same command, what it is to have.
local LONG = '00000000000000000000000000000000000000000000000000000000000000000'
