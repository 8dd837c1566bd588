local function priority_of(score) return math.max(0, math.min(9, 9 - math.floor(score / LEVEL))) end

-- Whether an item with a key was ever added.
local function has_keys()
  if key_step.keyed == nil then key_step.keyed = redis.call('HGET', META, 'keyed') and true or false end
  return key_step.keyed
end

-- The highest priority of which a held item may have a free place; nil if none has; false if this step has looked at as
-- many open keys as it may.
local MAX_ROUNDS, MAX_OPEN = 20, 300
local function first_open()
  if not has_keys() or key_step.none_open then return nil end
  local first = redis.call('ZRANGE', OPEN, 0, 0, 'WITHSCORES')[2]
  key_step.none_open = not first
  if not first then return nil end
  if key_step.rounds >= MAX_ROUNDS or key_step.keys >= MAX_OPEN then return false end
  return priority_of(tonumber(first))
end

-- As LMPOP of all ready lists, of those above this priority.
local function pop_above(priority, count)
  local lists = {}
  for higher = 9, priority + 1, -1 do lists[#lists + 1] = KEYS[READY + higher] end
  if #lists == 0 then return nil end
  lists[#lists + 1], lists[#lists + 2], lists[#lists + 3] = 'RIGHT', 'COUNT', count
  return redis.call('LMPOP', #lists - 3, unpack(lists))
end

-- Whether held items may have free places.
local function is_open() return redis.call('EXISTS', OPEN) == 1 end
