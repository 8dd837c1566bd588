-- Writes entries of the outbox for notes of DEFERRED. First a mark is pushed in front of the notes: how many they are, and the
-- number of the first entry. LTRIM drops it with the notes. So if this step stops half-way, the next one takes the same notes,
-- and gives the entries the same numbers. If they have been delivered by then, the lane of the other queue has these numbers.
-- Returns how many elements of DEFERRED are to be dropped.
local function write_entries(entries, first, note_count, new_salt)
  local last, salt = first and count_of(first) - 1, first and string.sub(first, -SALT) or new_salt
  if not first then
    local known = redis.call('HGET', META, 'last')
    last = math.max(known and count_of(known) or 0, (now - YEAR_2026) * 256)
    redis.call('HSET', META, 'last', in_base_36(last + #entries) .. salt)
    redis.call('LPUSH', DEFERRED, '#' .. text(note_count) .. ' ' .. in_base_36(last + 1) .. salt)
    note_count = note_count + 1
  end
  local members, packed = {}, {}
  for i, item in ipairs(entries) do
    local entry = entry_of_outbox(item.queue, last + i, salt, #item.packed)
    members[2 * i - 1], members[2 * i] = '0', entry
    packed[2 * i - 1], packed[2 * i] = entry, item.packed
  end
  redis.call('HSET', OUTGOING, unpack(packed))
  redis.call('ZADD', OUTBOX, unpack(members))
  return note_count
end
