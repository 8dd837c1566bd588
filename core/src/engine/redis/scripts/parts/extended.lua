-- The keys that only extended queues have:
--   COMPLETED, CANCELLED  sorted sets of retained items, by the server time until which each is kept
--   ENDED       number of a retained item to the server time of its end
--   RESULTS     number of a retained item to its result, for those that have one
--   UNIQUES     unique key to the number of its owner
--   TIMERS      sorted set of unique keys, by the server time until which each stays taken in any case
--   EXPIRIES    sorted set of numbers, by the server time at which each item is dead if nobody has leased it; until an
--               attempt of it has counted, or it has ended. The time is negative if it passed while the item was leased
--               and a sweep has seen that, so that sweeps do not find it again
--   MARKS       number of a leased item whose cancellation was requested to the head of its record
--   AWAITED, ENDINGS  see parts/endings.lua
--   HELD        sorted set of items that wait for a place of their keys, by their ranks in LINES
--   PLACES, LINES, OPEN, KEY_LIMITS  see parts/read_places.lua, parts/lines.lua and parts/limits.lua
--   METERS      see parts/key_rate.lua
--   SCHEDULES, TICKS  see parts/schedules.lua
--   FOLLOW_UPS, DEFERRED  see parts/fire.lua
--   HISTORY     see record_history.lua; plain queues may have it too
--   OUTBOX, OUTGOING  see parts/outbox.lua
--   FORWARD_LANES     see parts/forward_begin.lua; plain queues may have it too
--   EVENTS      see parts/event_entry.lua
--   GROUPS      see parts/groups.lua
--   MEMBERS     see parts/member_entry.lua

-- The length of a name in FOLLOW_UPS, and a flag of it (see parts/note_plain.lua); the greatest length of a result that a
-- follow-up gets; how many ends of items a step distributes at most; the length of the fields of a packed item (see
-- parts/unpack_items.lua).
local NAME, IS_PLAIN, MAX_COPIED_RESULT, MOST_NOTES, FIELDS_SIZE = 15, 4, 65536, 500, 35

-- The rank of a held item is `(9 - priority) * RANKS + order`: the order is the negative one of an item that had come back to
-- the front. OPEN has the keys whose lines may move, by the rank of the first item of each, or a lower one. Those whose
-- rates are used up stand behind, by `LATER + ms`: when the next lease is allowed.
local RANKS, MIDDLE = 562949953421312, 281474976710656 -- 2^49, 2^48
local LATER = 10 * RANKS
