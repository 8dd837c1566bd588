-- Of the entries of one item among the ready ones around two places, drops all but one.
-- KEYS  see parts/keys.lua, all
-- ARGV  [1] number, [2] and [3] priority and about which place from the left it was seen at first,
--       [4] and [5] the same of another time, [6] 1 to mend, 0 to look
-- Reply how many were dropped; when looking, 1 if there is more than one
local kept, doubles = nil, {}
for _, at in ipairs({ 2, 4 }) do
  local priority, from = ARGV[at], tonumber(ARGV[at + 1])
  -- New entries at the left have shifted what was seen.
  for i, number in ipairs(redis.call('LRANGE', KEYS[READY + priority], from, from + 2000)) do
    if number == ARGV[1] then
      local place = priority .. ':' .. (from + i - 1)
      if not kept then kept = place elseif place ~= kept then doubles[place] = { priority, from + i - 1 } end
    end
  end
end
local found = 0
for _, double in pairs(doubles) do
  found = found + 1
  if ARGV[6] == '1' then
    redis.call('LSET', KEYS[READY + double[1]], double[2], '0')
    redis.call('HINCRBY', META, 'gone:' .. double[1], 1)
  end
end
return ARGV[6] == '1' and found or math.min(found, 1)
