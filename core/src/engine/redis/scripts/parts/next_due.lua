-- Returns the server time at which the next item is due or expires; nil if there is none.
local function next_due()
  local leased = redis.call('ZRANGE', LEASED, '0', '0', 'WITHSCORES')[2]
  local delayed = redis.call('ZRANGE', DELAYED, '0', '0', 'WITHSCORES')[2]
  if leased and delayed then return math.min(tonumber(leased), tonumber(delayed)) end
  return tonumber(leased or delayed)
end
