-- Checks some entries of one index; deletes those without an item, and lanes that stay idle.
-- KEYS  see parts/keys.lua, up to DEAD
-- ARGV  [1] leased, delayed, dead, ids, details or lanes, [2] cursor, [3] how many entries to skip
--       there, [4] at most how many to check, [5] 1 to mend, 0 to check
-- Reply [1] next cursor and [2] how many entries to skip there, [3] the entries without an item (for lanes:
--       those that are idle), for details [4] the sum of the sizes of large records and [5] the largest
local keys = { leased = LEASED, delayed = DELAYED, dead = DEAD, ids = IDS, details = DETAILS, lanes = LANES }
local name, key, mend = ARGV[1], keys[ARGV[1]], ARGV[5] == '1'
local hash = name == 'ids' or name == 'details' or name == 'lanes'
local page = redis.call(hash and 'HSCAN' or 'ZSCAN', key, ARGV[2], 'COUNT', ARGV[4])
local from, to, cursor, skip = part_of(page, ARGV[3], ARGV[4], ARGV[2])

local dangling, sizes, largest = {}, 0, 0
for i = from, to, 2 do
  local entry, value = page[2][i], page[2][i + 1]
  local fine
  if name == 'ids' then
    fine = id_matches(entry, value, LARGE_RECORD)
  elseif name == 'lanes' then
    fine = not is_idle(entry, value, mend)
  else
    fine = redis.call('HEXISTS', ITEMS, entry) == 1
  end
  if not fine then dangling[#dangling + 1] = entry end
  local size = name == 'details' and tonumber(string.match(value, '^%d:(%d+):')) or 0
  sizes, largest = sizes + size, math.max(largest, size)
end
if mend and #dangling > 0 and name ~= 'lanes' then redis.call(hash and 'HDEL' or 'ZREM', key, unpack(dangling)) end
return { cursor, skip, dangling, sizes, largest }
