-- Limits in bytes. A reply has records of MAX_REPLY at most, or one record. 1,000 records of LARGE_RECORD
-- fit into it. The details of an item with a larger record have its size, so that no script reads a record
-- to learn its size.
local MAX_REPLY, LARGE_RECORD = 16777216, 16777
