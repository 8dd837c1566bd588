-- The states that are kept in sorted sets. An item that is in none of them is ready.
local SETS = { LEASED, DELAYED, DEAD, COMPLETED, CANCELLED, HELD }
