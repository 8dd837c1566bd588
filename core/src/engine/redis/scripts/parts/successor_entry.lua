-- Whether an entry of SUCCESSORS is right: its successor exists, and waits for an item that is leased.
local function is_successor_entry(entry, value)
  local leased = string.match(entry, '^%w') and entry or value
  local one = read_successor(leased, redis.call('HGET', SUCCESSORS, leased))
  if not one or redis.call('HEXISTS', ITEMS, one.number) == 0 then return false end
  if entry == leased then return redis.call('ZSCORE', LEASED, leased) end
  for _, field in ipairs(fields_of({ one })) do
    if field == entry then return true end
  end
end
