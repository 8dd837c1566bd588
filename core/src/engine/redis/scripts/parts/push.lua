-- Collects numbers by destination, so that each list and sorted set is written once.
local back, front, scored = {}, {}, {}

local function into(bag, key, number)
  local list = bag[key]
  if not list then
    list = {}
    bag[key] = list
  end
  list[#list + 1] = number
end

local function push_back(priority, number) into(back, KEYS[READY + priority], number) end
local function push_front(priority, number) into(front, KEYS[READY + priority], number) end
local function push_at(key, score, number)
  into(scored, key, text(score))
  into(scored, key, number)
end

-- Items are leased from the right end. The first one collected for the front is leased first.
local function push_all()
  for key, numbers in pairs(back) do redis.call('LPUSH', key, unpack(numbers)) end
  for key, numbers in pairs(front) do
    local reversed = {}
    for i = #numbers, 1, -1 do reversed[#reversed + 1] = numbers[i] end
    redis.call('RPUSH', key, unpack(reversed))
  end
  for key, pairs_of in pairs(scored) do redis.call('ZADD', key, unpack(pairs_of)) end
  back, front, scored = {}, {}, {}
end
