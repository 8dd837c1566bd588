-- Items leave their places in two steps. This one opens the keys that have lines, and returns a function which frees the
-- places: the caller takes the items out of LEASED in between. If the script stops there, the lines move anyway.
-- `keys`: those of the items, by index; nil if none has one. Returns nil if there is nothing to do.
local function begin_leaving(numbers, keys)
  if not keys then return nil end
  local named, owners, free, busy, places, left = {}, {}, {}, {}, {}, {}
  for i, number in ipairs(numbers) do
    local key = keys[i]
    if key then named[#named + 1], owners[#named + 1] = key, number end
  end
  if #named == 0 then return nil end
  -- Usually it is the only place of its key, and nobody waits.
  for n, value in ipairs(redis.call('HMGET', PLACES, unpack(named))) do
    local key = named[n]
    if value == ' ' .. owners[n] .. ' ' then
      free[#free + 1] = key
    elseif value then
      if not places[key] then busy[#busy + 1], places[key] = key, read_place(value) end
      left[#left + 1] = n
    end
  end
  local flagged = {}
  for _, key in ipairs(busy) do
    if places[key].flag then flagged[#flagged + 1] = key end
  end
  -- Those whose rates are used up open in time.
  local closed = {}
  for n, score in ipairs(#flagged > 0 and redis.call('ZMSCORE', OPEN, unpack(flagged)) or {}) do
    if (tonumber(score or nil) or 0) < LATER then closed[#closed + 1] = flagged[n] end
  end
  open_keys(closed, places)
  return function()
    for _, n in ipairs(left) do leave_place(places[named[n]], owners[n]) end
    if #busy > 0 then write_places(busy, places) end
    if #free > 0 then redis.call('HDEL', PLACES, unpack(free)) end
  end
end
