-- Lets successors follow whose leased items have ended in steps that stopped half-way, and drops entries of such that are gone.
-- KEYS  see parts/keys.lua
-- ARGV  from [1] the entries of SUCCESSORS that parts/audit_index.lua has found
-- Reply nothing
local refused = refusal(redis.call('HGET', META, 'format'))
if refused then return refused end
local entries, dropped = { unpack(ARGV) }, {}
follow(entries)
for n, value in ipairs(redis.call('HMGET', SUCCESSORS, unpack(entries))) do
  local entry = entries[n]
  if value and not is_successor_entry(entry, value) then dropped[#dropped + 1] = entry end
end
if #dropped > 0 then redis.call('HDEL', SUCCESSORS, unpack(dropped)) end
