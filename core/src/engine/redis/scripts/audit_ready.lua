-- Checks a part of one ready list; makes tombstones of entries whose items are in another state.
-- KEYS  see parts/keys.lua
-- ARGV  [1] priority, [2] first index from the left, [3] last index, [4] 1 to mend, 0 to check
-- Reply [1] the numbers in that part, [2] those of them that are in another state
local refused = ARGV[4] == '1' and refusal(redis.call('HGET', META, 'format'))
if refused then return refused end
local key = KEYS[READY + ARGV[1]]
local numbers = redis.call('LRANGE', key, ARGV[2], ARGV[3])
if #numbers == 0 then return { {}, {} } end
local misplaced = {}
local states = {}
for _, set in ipairs(SETS) do
  for i, score in ipairs(redis.call('ZMSCORE', set, unpack(numbers))) do states[i] = states[i] or score end
end
for i, number in ipairs(numbers) do
  if states[i] and redis.call('HEXISTS', ITEMS, number) == 1 then
    misplaced[#misplaced + 1] = number
    -- 0 is not the number of an item: a tombstone.
    if ARGV[4] == '1' then redis.call('LSET', key, ARGV[2] + i - 1, '0') end
  end
end
if ARGV[4] == '1' and #misplaced > 0 then redis.call('HINCRBY', META, 'gone:' .. ARGV[1], #misplaced) end
return { numbers, misplaced }
