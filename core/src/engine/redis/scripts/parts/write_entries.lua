-- Writes entries of the outbox, from the number `first` on.
local function write_entries(entries, first)
  if #entries == 0 then return end
  local last, salt, members, packed = count_of(first) - 1, string.sub(first, -SALT), {}, {}
  for i, item in ipairs(entries) do
    local entry = entry_of_outbox(item.queue, last + i, salt, #item.packed)
    members[2 * i - 1], members[2 * i] = '0', entry
    packed[2 * i - 1], packed[2 * i] = entry, item.packed
  end
  redis.call('HSET', OUTGOING, unpack(packed))
  redis.call('ZADD', OUTBOX, unpack(members))
end
