-- Stores items of an add as successors of leased ones, each in the place of an earlier one. `waits_for`: index of an item to
-- what leads to its leased one, `leased` and `leased_id`. `options_of(i)`: where its priority begins in ARGV, or nil, and
-- where what extended queues know; `key_of`: its unique key; `followed`: where the name of its follow-ups is. `last`: the
-- last number. `count_before`: that before the first item, if their numbers are reserved; `forwarded`: nil, or the items and the
-- lane of another queue. Returns the last number.
local function store_successors(waits_for, options_of, key_of, followed, last, count_before, forwarded)
  local records, details, entries, fields, names, leased, kept, is_new = {}, {}, {}, {}, {}, {}, {}, {}
  local base = math.max(last and count_of(last) or 0, (now - YEAR_2026) * 256)
  local large, largest
  local count, stored = tonumber(ARGV[4]), 0
  for i = 1, count do
    local old = waits_for[i]
    if old then
      stored = stored + 1
      local number = in_base_36(count_before and count_before + i or base + stored) .. ARGV[3]
      local record = ARGV[4 + count + i]
      local options, more = options_of(i)
      local size = #record > LARGE_RECORD and #record or 0
      if size > 0 then large, largest = number, math.max(largest or 0, size) end
      if not count_before then last = number end
      is_new[number] = true
      records[2 * stored - 1], records[2 * stored] = number, record
      details[2 * stored - 1], details[2 * stored] = number, pack_details({ size = size, failures = 0, expiries = 0,
        deliveries = 0, front = 0, since = 0, error = '', priority = options and tonumber(ARGV[options]) or 0,
        max_attempts = options and tonumber(ARGV[options + 2]) or 0,
        sections = size > 0 and key_section(record) or nil })
      local id, key = ARGV[4 + i], key_of[i] or ''
      local source = count_before and '#' .. in_base_36(count_before + 1) .. ARGV[3]
        or forwarded and '>' .. forwarded.items[i].entry .. ' ' .. forwarded.lane or ''
      local entry = table.concat({ number, options and ARGV[options + 1] or '0', ARGV[more], ARGV[more + 2],
        text(#id), text(#old.leased_id), text(#source), id .. old.leased_id .. source .. key }, ' ')
      leased[stored] = old.leased
      entries[#entries + 1], entries[#entries + 2] = old.leased, entry
      for _, field in ipairs(fields_of({ read_successor(old.leased, entry) })) do
        kept[field] = true
        fields[#fields + 1], fields[#fields + 2] = field, old.leased
      end
      if followed[i] then
        kept[ARGV[followed[i]]] = true -- a follow-up that is added again has the same
        names[#names + 1] = ARGV[followed[i]]
        names[#names + 1] = ARGV[followed[i] + 1]
      end
    end
  end
  -- What a step has stored that has stopped half-way may have the same number.
  local replaced = {}
  for _, one in ipairs(find_successors(leased) or {}) do
    if not is_new[one.number] then replaced[#replaced + 1] = one end
  end
  redis.call('HSET', META, 'last', last)
  if large then
    largest = math.max(largest, tonumber(redis.call('HGET', META, 'largest')) or 0)
    redis.call('HSET', META, 'large', large, 'largest', text(largest))
  end
  if #names > 0 then redis.call('HSET', FOLLOW_UPS, unpack(names)) end
  redis.call('HSET', ITEMS, records[1], LONG, unpack(records))
  redis.call('HSET', DETAILS, details[1], LONG, unpack(details))
  redis.call('HSET', SUCCESSORS, fields[1], LONG, unpack(fields))
  -- From here on these are the successors. The earlier ones go without a note.
  redis.call('HSET', SUCCESSORS, unpack(entries))
  if #replaced > 0 then discard(replaced, kept) end
  return last
end
