-- Finds the items that an operator names: from ARGV[at] on how many, their ids, and for each the number that it must
-- have ('': any). Returns for each id the number of its item, or false if there is none or it has another number.
-- Also the index of the last of these arguments.
local function read_named(at)
  local count = tonumber(ARGV[at])
  local numbers = redis.call('HMGET', IDS, unpack(ARGV, at + 1, at + count))
  for i = 1, count do
    local expected = ARGV[at + count + i]
    if expected ~= '' and numbers[i] ~= expected then numbers[i] = false end
  end
  return numbers, at + 2 * count
end
