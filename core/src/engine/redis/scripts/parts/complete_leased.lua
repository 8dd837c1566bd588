-- Completes items that were leased until now, by index: their unique keys, if they have one, for how long they are
-- retained, if it is not `retain_all`, and their results. See parts/complete_extended.lua. `release`:
-- release_owned if all leases were those of the caller, else release_keys.
-- `details`: by index, if any item of the queue has some.
local function complete_leased(numbers, ids, keys, retain_all, retain_of, results, release, details)
  if has_events() then note_events('c', numbers, ids, next(details) ~= nil and details, 1) end
  local usual = retention(retain_all >= 0 and retain_all)
  local kept, gone = { numbers = {}, ids = {}, retains = {}, results = {} }, { numbers = {}, ids = {}, keys = {} }
  if next(retain_of) then
    for i, number in ipairs(numbers) do
      local own = tonumber(retain_of[i])
      local retain = own and retention(own >= 0 and own) or usual
      local list = retain > 0 and kept or gone
      local n = #list.numbers + 1
      list.numbers[n], list.ids[n] = number, ids[i]
      if retain > 0 then
        kept.retains[n], kept.results[n] = retain, results[i] or false
      else
        gone.keys[n] = keys[i]
      end
    end
  elseif usual > 0 then
    kept = { numbers = numbers, ids = ids, retains = usual, results = results }
  else
    gone = { numbers = numbers, ids = ids, keys = keys }
  end
  if #kept.numbers > 0 then
    -- Plain scripts must know no retained item.
    make_extended(redis.call('HGET', META, 'format'))
    retain_items(COMPLETED, kept.numbers, kept.retains, kept.results)
  end
  if #gone.numbers > 0 then
    delete_leased(gone.numbers, gone.ids)
    if next(gone.keys) then release(gone.keys, gone.numbers) end
  end
  redis.call('HINCRBY', META, 'completed', text(#numbers))
  report_endings('C', kept.ids)
  report_endings('c', gone.ids)
end
