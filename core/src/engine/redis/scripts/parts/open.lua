-- The first score in OPEN; nil if it is empty.
local function first_score() return tonumber(redis.call('ZRANGE', OPEN, 0, 0, 'WITHSCORES')[2]) end

-- The rank of the first held item that may have a free place, or a lower one; nil if none has; false if this step has
-- looked at as many open keys as it may.
local MAX_CALLS, MAX_ENTRIES = 350, 4000
local function first_open()
  if key_step.none_open then return nil end
  local first = first_score()
  key_step.none_open = not first or first >= LATER
  if key_step.none_open then return nil end
  if key_step.calls >= MAX_CALLS or key_step.entries >= MAX_ENTRIES then return false end
  key_step.calls = key_step.calls + 3
  return first
end

local function priority_of(rank) return math.max(0, math.min(9, 9 - math.floor((rank + MIDDLE) / RANKS))) end

-- The rank that the first item of this list would have, if it has come back to the front; nil if it has not.
local function front_rank(priority)
  local order = front_orders(key_step.fronts, text(priority), 1)[1]
  return order and (9 - priority) * RANKS - order
end

-- Pops as LMPOP of all ready lists what stands before the held item with this rank: what is in the lists above its own, and of
-- that what had come back to the front later. `plain`: no item has details, so all of this is tombstones, and those of other
-- lists are in nobody's way.
local function pop_above(rank, count, plain)
  local priority, lists = priority_of(rank), {}
  for higher = plain and priority or 9, priority + 1, -1 do lists[#lists + 1] = KEYS[READY + higher] end
  local size = #lists
  lists[size + 1], lists[size + 2], lists[size + 3] = 'RIGHT', 'COUNT', count
  local popped = size > 0 and redis.call('LMPOP', size, unpack(lists))
  if popped then return popped end
  local above, own = 0, text(priority)
  for _, order in ipairs(front_orders(key_step.fronts, own, count)) do
    if (9 - priority) * RANKS - order < rank then above = above + 1 end
  end
  if above == 0 then return nil end
  local key = KEYS[READY + priority]
  local numbers = redis.call('RPOP', key, above)
  if numbers then return { key, numbers } end
  left_front(key_step.fronts, own, count_front(key_step.fronts, own))
end

-- The orders of popped items that had come back to the front, by number; nil if there are none.
local function orders_of(popped, priority)
  local orders
  for i, order in ipairs(front_orders(key_step.fronts, priority, #popped)) do
    orders = orders or {}
    orders[popped[i]] = order
  end
  return orders
end

-- Whether held items may have free places.
local function is_open() return (first_score() or LATER) < LATER end

-- When the next key opens whose rate is used up (ms); nil if there is none.
local function next_opening()
  local first = tonumber(redis.call('ZRANGE', OPEN, text(LATER), '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')[2])
  return first and first - LATER
end
