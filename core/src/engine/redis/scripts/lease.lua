-- Leases the oldest ready items of the highest priorities, after moving what is due or expired.
-- KEYS  see parts/keys.lua, all
-- ARGV  [1] lane, [2] number, from [3] what parts/lease.lua reads (1,000 items in all at most). A
--       group of 0 items only looks and passes the wake token on.
-- Reply [1] server time, [2] ms until something is due or expires (-1: nothing is; 0: look again now),
--       [3] numbers, [4] records, [5] extras ('' where there is none; empty if none has any), which
--       belong to the groups in order. An empty record: lost before a retry, or not to be leased.
local done, at = load_reply()
if done and not at then return done end
if done then
  take_again(done)
  return { text(at), 0, numbers, records, extras }
end

local look = lease(3, 0)
save_reply(nil, held)
return { now, look, numbers, records, extras }
