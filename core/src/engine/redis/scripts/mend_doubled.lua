-- Drops the second of two entries of one item among the ready ones.
-- KEYS  see parts/keys.lua, all
-- ARGV  [1] number, [2] and [3] priority and about which place from the left it was seen at first,
--       [4] and [5] the same of the second time, [6] 1 to mend, 0 to look
-- Reply 1 if it stands in both places
local function place(priority, from, last)
  local numbers = redis.call('LRANGE', KEYS[READY + priority], from, from + 2000)
  local found
  for i, number in ipairs(numbers) do
    if number == ARGV[1] and (last or not found) then found = from + i - 1 end
  end
  return found
end
local first, second = place(ARGV[2], tonumber(ARGV[3]), false), place(ARGV[4], tonumber(ARGV[5]), true)
if not first or not second or (first == second and ARGV[2] == ARGV[4]) then return 0 end
if ARGV[6] == '1' then
  redis.call('LSET', KEYS[READY + ARGV[4]], second, '0')
  redis.call('HINCRBY', META, 'gone:' .. ARGV[4], 1)
end
return 1
