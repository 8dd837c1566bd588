-- Cancels items that parts/read_items.lua has `found`, by these numbers (false: there is none) and ids. Those that wait are gone,
-- or retained as cancelled under a new number, so that no entry of a ready list leads to them. Leased ones are marked: they do
-- not come back when their leases end. `format`, `cancels`: as META has them; `salt`: of new numbers. Returns for each 1
-- (cancelled, or leased and marked), 0 (there is none, or it has ended) or - (not executed).
local function cancel_items(numbers, ids, found, format, cancels, salt)
  local answers, leased, marks, items, times, names, entries = {}, {}, {}, {}, {}, {}, {}
  local ending = {} -- those that end now, with their names by index
  local gone = { numbers = {}, ids = {}, known = {}, details = {}, keys = {} }
  for i, number in ipairs(numbers) do
    local item, id = number and found[number], ids[i]
    answers[i] = '1'
    if not item then
      answers[i] = '0' -- it has ended
    elseif item.left then
      answers[i] = '-'
    elseif item.leased then
      leased[#leased + 1] = number
      marks[#marks + 1] = number
      marks[#marks + 1] = string.sub(item.record, 1, item.data_at - 1)
    elseif item.id or has_passed(item.expires) then
      answers[i] = '0'
    else
      local retain = retention(item.retain)
      item.id = id
      ending[#ending + 1], names[#ending + 1] = number, item.follow_ups
      if retain > 0 then
        items[#items + 1], times[#times + 1] = item, retain
      else
        local n = #gone.numbers + 1
        gone.numbers[n], gone.ids[n], gone.known[n] = number, id, true
        gone.details[n], gone.keys[n] = item.packed, item.key
        if item.held and item.limit_key then entries[#entries + 1] = entry_of(item.limit_key, item.held, number) end
      end
    end
  end

  drop_successors(leased)
  local all_marked = true
  for _, head in ipairs(#leased > 0 and redis.call('HMGET', MARKS, unpack(leased)) or {}) do
    all_marked = all_marked and head
  end
  if not all_marked then
    make_extended(format)
    -- Clients compare this with what they have seen. It follows the clock, so that no earlier value comes back when the
    -- server has lost its latest data.
    redis.call('HSET', META, 'cancels', text(math.max((tonumber(cancels) or 0) + 1, now)))
    redis.call('HSET', MARKS, unpack(marks))
  end
  if next(names) then fire(ending, names, ENDS, 'l') end
  if #entries > 0 then redis.call('ZREM', LINES, unpack(entries)) end
  if has_events() then note_events('x', gone.numbers, gone.ids) end
  if #gone.numbers > 0 then delete_all_of(gone.numbers, gone.ids, gone.known, gone.details, gone.keys) end
  if #items > 0 then
    renumber(items, salt, 'x')
    local new = {}
    for n, item in ipairs(items) do new[n] = item.number end
    retain_items(CANCELLED, new, times, {})
  end
  local count = #gone.numbers + #items
  if count > 0 then
    redis.call('HINCRBY', META, 'cancelled', count)
    local kept_ids = {}
    for n, item in ipairs(items) do kept_ids[n] = item.id end
    report_endings('x', gone.ids)
    report_endings('X', kept_ids)
  end
  return answers
end
