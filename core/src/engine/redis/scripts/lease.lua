-- Moves due and expired items, then leases the oldest ready items of the highest priorities.
-- KEYS  see parts/keys.lua
-- ARGV  [1] lane, [2] number, from [3] what parts/lease.lua reads (at most 1,000 items in all). A
--       group of 0 items leases nothing, and passes the wake token on.
-- Reply [1] server time, [2] ms until something is due or expires (-1: nothing is; 0: ask again now),
--       [3] numbers, [4] records, [5] details ('' if an item has none; empty if no item has any).
--       The items belong to the groups in order. An empty record: lost before a retry, or damaged.
local done, at = load_reply()
if done and not at then return done end
if done then
  take_saved(done)
  return { text(at), 0, numbers, records, details }
end

local look = lease(3, #ARGV, 0)
if type(look) == 'table' then return look end
save_reply(nil, saved)
return { now, look, numbers, records, details }
