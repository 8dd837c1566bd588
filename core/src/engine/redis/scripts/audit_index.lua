-- Looks at some entries of one index, and drops those without an item, and lanes that stay idle.
-- KEYS  see parts/keys.lua, up to DEAD
-- ARGV  [1] leased, delayed, dead, ids, extra or lanes, [2] cursor, [3] about how many, [4] 1 to mend, 0 to look
-- Reply [1] next cursor, [2] the entries without an item (for lanes: those that are idle)
local keys = { leased = LEASED, delayed = DELAYED, dead = DEAD, ids = IDS, extra = EXTRA, lanes = LANES }
local name, key = ARGV[1], keys[ARGV[1]]
local hash = name == 'ids' or name == 'extra' or name == 'lanes'
local page = redis.call(hash and 'HSCAN' or 'ZSCAN', key, ARGV[2], 'COUNT', ARGV[3])

local dangling = {}
for i = 1, #page[2], 2 do
  local entry, value = page[2][i], page[2][i + 1]
  local fine
  if name == 'ids' then
    fine = leads_to(entry, value, 65536)
  elseif name == 'lanes' then
    fine = not is_idle(entry, value, ARGV[4] == '1')
  else
    fine = redis.call('HEXISTS', ITEMS, entry) == 1
  end
  if not fine then
    dangling[#dangling + 1] = entry
    if ARGV[4] == '1' and name ~= 'lanes' then redis.call(hash and 'HDEL' or 'ZREM', key, entry) end
  end
end
return { page[1], dangling }
