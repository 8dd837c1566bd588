-- The keys of the registry of workers, named as in parts/keys.lua. An entry is named by its worker and instance, with a
-- zero byte between them.
--   NAMES     sorted set of all entries, with equal scores: in the order of the names
--   BEATS     sorted set of all entries, by the server time at which each expires
--   BODIES    entry to what its last beat said, which only clients read
--   COMMANDS  entry to the commands that it has not acknowledged, see parts/workers.lua
--   QUIET     name of a worker that takes nothing to the server time since when
local ARGV = ARGV -- a local is faster in loops than a global
