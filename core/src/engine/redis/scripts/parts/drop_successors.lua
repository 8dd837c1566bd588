-- Drops the successors of leased items that are removed or cancelled, as if they were removed themselves. The entries go last, so
-- that a step that is repeated finds them again.
local function drop_successors(numbers)
  local dropped = confirmed(find_successors(numbers) or {})
  if #dropped == 0 then return end
  local gone, ids = {}, {}
  for n, one in ipairs(dropped) do gone[n], ids[n] = one.number, one.id ~= one.leased_id and one.id end
  fire(gone, find_names(gone), ENDS, 'l')
  redis.call('HDEL', DETAILS, unpack(gone))
  redis.call('HDEL', ITEMS, unpack(gone))
  forget_successors(dropped)
  report_endings('r', ids)
end
