-- Deletes the entries of unique keys whose owners end, but for those that stay taken for longer. `keys`: by any index.
local function release_owned(keys)
  local named, free, count = {}, {}, 0
  for _, key in pairs(keys) do
    count = count + 1
    named[count] = key
  end
  if count == 0 then return end
  local has_reserved = redis.call('EXISTS', TIMERS) == 1
  for i, reserved in ipairs(has_reserved and redis.call('ZMSCORE', TIMERS, unpack(named)) or {}) do
    if not (reserved and tonumber(reserved) > now) then free[#free + 1] = named[i] end
  end
  if not has_reserved then free = named end
  if #free > 0 then redis.call('HDEL', UNIQUES, unpack(free)) end
end
