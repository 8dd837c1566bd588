-- Makes the times at which items expire, and the names of attached follow-ups, lead to their new numbers. Returns the entries
-- of UNIQUES that are to lead to them.
local function move_options(items, old, kind)
  local keys, owners, expiries, attached = {}, {}, {}, {}
  -- Of those that are retained from now on, all has fired.
  for n, name in pairs((kind == 'd' or kind == 'v') and attached_names(old, {}) or {}) do
    attached[#attached + 1] = items[n].number .. '+'
    attached[#attached + 1] = name
  end
  if #attached > 0 then redis.call('HSET', FOLLOW_UPS, unpack(attached)) end
  for n, item in ipairs(items) do
    if item.expires then
      expiries[#expiries + 1] = string.format('%.1f', item.expires)
      expiries[#expiries + 1] = item.number
    end
    local _, _, key = read_head(item.record)
    keys[n] = key
  end
  if #expiries > 0 then redis.call('ZADD', EXPIRIES, unpack(expiries)) end
  for n, key in pairs(find_owned(keys, old)) do
    owners[#owners + 1] = key
    owners[#owners + 1] = items[n].number
  end
  return owners
end

-- Gives items new numbers, so that each is a new generation: the entries of ready lists that name the old numbers
-- are tombstones, and no lease of the old numbers can do anything. The caller then puts the new numbers into their
-- states: an item that is in none, because the server stopped in between, is found by a deep clean.
-- `items`: as parts/read_items.lua reads them, each with the details and the record that it is to have, its stored
-- id, `expires` if it still does; `priority` is the one that it had. Their numbers change.
-- `salt`: of the new numbers; `kind`: of the event.
-- At any time there is one item that can be found: until the old record is deleted, a deep clean deletes the new
-- one, because its id leads to the old one; after that its id is made to lead to it.
local function renumber(items, salt, kind)
  local meta = redis.call('HMGET', META, 'last', 'largest')
  local count = math.max(meta[1] and count_of(meta[1]) or 0, (now - YEAR_2026) * 256)
  local largest, large = tonumber(meta[2]) or 0, nil
  local records, details, ids, old, gone, entries = {}, {}, {}, {}, {}, {}
  for n, item in ipairs(items) do
    local x, number = item.x, in_base_36(count + n) .. salt
    x.sections.A = x.sections.A or text(math.floor((count_of(item.number) or 0) / 256) + YEAR_2026)
    x.deliveries, x.size = 0, 0
    if #item.record > LARGE_RECORD then
      x.size, large, largest = #item.record, number, math.max(largest, #item.record)
      local _, _, key = read_head(item.record)
      x.sections.K, x.sections.F, x.sections.I = item.limit_key, item.follow_ups, key and item.id
    end
    records[2 * n - 1], records[2 * n] = number, item.record
    details[2 * n - 1], details[2 * n] = number, pack_details(x)
    ids[2 * n - 1], ids[2 * n] = item.id, number
    if not item.delayed and not item.dead and not item.held then gone[item.priority] = (gone[item.priority] or 0) + 1 end
    if item.held and item.limit_key then entries[#entries + 1] = entry_of(item.limit_key, item.held, item.number) end
    old[n], item.number = item.number, number
  end
  redis.call('HSET', META, 'last', items[#items].number)
  if has_events() then
    local numbers, stored_ids, attempts = {}, {}, {}
    for n, item in ipairs(items) do numbers[n], stored_ids[n], attempts[n] = item.number, item.id, details[2 * n] end
    -- As parts/complete_late.lua notes those that are not retained.
    note_events(kind, numbers, stored_ids, kind == 'c' and attempts, 1)
  end
  if large then redis.call('HSET', META, 'large', large, 'largest', text(largest)) end
  local owners = move_options(items, old, kind)
  redis.call('HSET', ITEMS, unpack(records))
  redis.call('HSET', DETAILS, unpack(details))
  redis.call('HDEL', ITEMS, unpack(old))
  if #owners > 0 then redis.call('HSET', UNIQUES, unpack(owners)) end
  redis.call('HSET', IDS, unpack(ids))
  for priority, tombstones in pairs(gone) do redis.call('HINCRBY', META, 'gone:' .. priority, tombstones) end
  for _, key in ipairs({ DELAYED, DEAD, HELD }) do redis.call('ZREM', key, unpack(old)) end
  for _, key in ipairs({ DETAILS, MARKS }) do redis.call('HDEL', key, unpack(old)) end
  redis.call('ZREM', EXPIRIES, unpack(old))
  if read_settings().attached then
    for n, number in ipairs(old) do old[n] = number .. '+' end
    redis.call('HDEL', FOLLOW_UPS, unpack(old))
  end
  if #entries > 0 then redis.call('ZREM', LINES, unpack(entries)) end
end
