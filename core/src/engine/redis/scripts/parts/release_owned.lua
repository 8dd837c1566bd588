-- Deletes the entries of unique keys whose owners end, but for those that stay taken for longer. `keys`: by the index of
-- these numbers; false or nil if an item has none.
local function release_owned(keys, numbers)
  local named, free, count = {}, {}, 0
  for i = 1, #numbers do
    local key = keys[i]
    if key then
      count = count + 1
      named[count] = key
    end
  end
  if count == 0 then return end
  local has_reserved = redis.call('EXISTS', TIMERS) == 1
  for i, reserved in ipairs(has_reserved and redis.call('ZMSCORE', TIMERS, unpack(named)) or {}) do
    if not (reserved and tonumber(reserved) > now) then free[#free + 1] = named[i] end
  end
  if not has_reserved then free = named end
  if #free > 0 then redis.call('HDEL', UNIQUES, unpack(free)) end
end
