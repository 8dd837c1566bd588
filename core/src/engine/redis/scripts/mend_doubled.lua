-- Makes tombstones of all entries but one that an item has in the ready lists, near two places.
-- KEYS  see parts/keys.lua
-- ARGV  [1] number, [2] and [3] priority and approximate index from the left of its first entry, [4] and [5]
--       of another one, [6] how many entries to look at from each of the two (500), [7] 1 to mend, 0 to check
-- Reply how many were replaced; when checking, 1 if there is more than one entry
local refused = ARGV[7] == '1' and refusal(redis.call('HGET', META, 'format'))
if refused then return refused end
local kept, seen, dropped = nil, {}, { 0, 0 }
for turn, at in ipairs({ 2, 4 }) do
  local priority, from = ARGV[at], tonumber(ARGV[at + 1])
  -- New entries at the left have shifted what was seen.
  for i, number in ipairs(redis.call('LRANGE', KEYS[READY + priority], from, from + ARGV[6] - 1)) do
    local place = priority .. ':' .. (from + i - 1)
    if number == ARGV[1] and not seen[place] and dropped[1] + dropped[2] < 500 then
      seen[place] = true
      if kept then
        dropped[turn] = dropped[turn] + 1
        if ARGV[7] == '1' then redis.call('LSET', KEYS[READY + priority], from + i - 1, '0') end
      end
      kept = true
    end
  end
end
local found = dropped[1] + dropped[2]
if ARGV[7] ~= '1' then return math.min(found, 1) end
for turn, at in ipairs({ 2, 4 }) do
  if dropped[turn] > 0 then redis.call('HINCRBY', META, 'gone:' .. ARGV[at], dropped[turn]) end
end
return found
