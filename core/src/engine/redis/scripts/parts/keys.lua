-- In front of each script the client puts names for the keys that it uses: `local META, ITEMS = KEYS[1], KEYS[2]`. `key_names.rs`
-- has their order. The ready lists are at the end: READY is the index of that of priority 0, READY + 9 that of priority 9. In a
-- Cluster one more key follows, which never exists (see `keys.rs`).
local ARGV = ARGV -- a local is faster in loops than a global

-- The server keeps a hash of up to 512 fields with short values as a list, and searches it from the start for each field. A
-- value that is too long for such a list turns the hash into a table, which it stays until it is empty. So whoever fills a
-- hash writes this to the first field, and then, in the same command, what it is to have.
local LONG = '00000000000000000000000000000000000000000000000000000000000000000'
