-- A reply carries about 16 MiB of records at most, or one record. 1,000 of up to LARGE bytes fit into that;
-- the extra of an item with a larger one has its size, so that no record is read to learn it.
local ROOM, LARGE = 16777216, 16777
