-- The first items of each ready list, of those that had come back to its front while some item had a place. Each got an
-- *order* when it came back: who comes back later stands before. When one is held, its rank has the negative of its order, so it
-- keeps its place among those that still wait here. All other held items stand behind, and then the others of the list.
-- The field `fronts` of META has them as stretches of consecutive orders, from the last item to the first one:
-- `priority:count@order,count@order`, with the order of the first item of each stretch, and spaces between lists.
local MAX_STRETCHES = 100

local function read_fronts(stored)
  local fronts = {}
  for priority, stretches in string.gmatch(stored or '', '(%d):([%d@,]+)') do
    local front = {}
    for count, order in string.gmatch(stretches, '(%d+)@(%d+)') do
      front[#front + 1] = { count = tonumber(count), order = tonumber(order) }
    end
    if #front > 0 then fronts[priority] = front end
  end
  return fronts
end

local function write_fronts(fronts)
  local lists = {}
  for priority, front in pairs(fronts) do
    local stretches = {}
    for n, stretch in ipairs(front) do stretches[n] = text(stretch.count) .. '@' .. text(stretch.order) end
    lists[#lists + 1] = priority .. ':' .. table.concat(stretches, ',')
  end
  if #lists > 0 then redis.call('HSET', META, 'fronts', table.concat(lists, ' ')) else redis.call('HDEL', META, 'fronts') end
end

-- How many items there are at the front of this list; nil: none.
local function count_front(fronts, priority)
  local count
  for _, stretch in ipairs(fronts[priority] or {}) do count = (count or 0) + stretch.count end
  return count
end

-- The orders of the first `most` items of this list, from the first one on.
local function front_orders(fronts, priority, most)
  local orders, front = {}, fronts[priority] or {}
  for n = #front, 1, -1 do
    for i = 0, math.min(front[n].count, most - #orders) - 1 do orders[#orders + 1] = front[n].order - i end
  end
  return orders
end

-- `count` items have come back to the front of this list. `holds`: the last order that was given.
local function came_to_front(priority, count)
  local meta = redis.call('HMGET', META, 'fronts', 'holds')
  local fronts, holds = read_fronts(meta[1]), tonumber(meta[2]) or 0
  local front = fronts[priority] or {}
  local last, order = front[#front], last_order(meta[2])
  if last and (last.order == holds or #front >= MAX_STRETCHES) then
    -- With too many stretches, some of the orders are not those that the items had got: they may be held before others that
    -- came back after them.
    order = last.order == holds and holds or order
    last.count, last.order = last.count + count, order + count
  else
    front[#front + 1] = { count = count, order = order + count }
  end
  fronts[priority] = front
  redis.call('HSET', META, 'holds', text(order + count))
  write_fronts(fronts)
end

-- `count` items have left this list at its front.
local function left_front(fronts, priority, count)
  local front = fronts[priority]
  if not front or count <= 0 then return end
  while count > 0 and #front > 0 do
    local last = front[#front]
    local gone = math.min(count, last.count)
    last.count, last.order, count = last.count - gone, last.order - gone, count - gone
    if last.count == 0 then front[#front] = nil end
  end
  if #front == 0 then fronts[priority] = nil end
  write_fronts(fronts)
end
