-- Items leave their places in two steps. This one opens the keys that have lines, and returns a function which frees the
-- places: the caller takes the items out of LEASED in between. If the script stops there, the lines move anyway.
-- `keys`: those of the items, by index; nil if none has one. Returns nil if there is nothing to do.
local function begin_leaving(numbers, keys)
  if not keys then return nil end
  local named, first, all, free, busy, places, count, free_count = {}, {}, {}, {}, {}, {}, 0, 0
  for i, number in ipairs(numbers) do
    local key = keys[i]
    if key and not first[key] then
      count = count + 1
      named[count], first[key] = key, number
    elseif key then
      local theirs = all[key]
      if not theirs then
        theirs = { first[key] }
        all[key] = theirs
      end
      theirs[#theirs + 1] = number
    end
  end
  if count == 0 then return nil end
  -- Usually it is the only place of its key, and nobody waits.
  for n, value in ipairs(redis.call('HMGET', PLACES, unpack(named))) do
    local key = named[n]
    if value == ' ' .. first[key] .. ' ' then
      free_count = free_count + 1
      free[free_count] = key
    elseif value then
      busy[#busy + 1], places[key] = key, read_place(value)
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
    for _, key in ipairs(busy) do leave_places(places[key], all[key] or { first[key] }) end
    if #busy > 0 then write_places(busy, places) end
    if #free > 0 then redis.call('HDEL', PLACES, unpack(free)) end
  end
end
