-- Deletes the items that make room for those that are added; see parts/conflicts.lua. `number_of`: index of an item that
-- is added to its number.
local function make_room(old, expired, number_of)
  expire_for_good(expired)
  if not old then return end
  local details = redis.call('HMGET', DETAILS, unpack(old.numbers))
  fire_replacements(old.numbers)
  drop_entries(old.numbers, details)
  drop_successors(old.numbers) -- of an item whose end has stopped half-way
  delete_all_of(old.numbers, old.ids, old.known, details, keys_of(old.numbers, details))
  if old.replaced > 0 then redis.call('HINCRBY', META, 'replaced', old.replaced) end
  if not is_awaited() then return end
  -- An item that is replaced by one with another id is gone. One with the same id takes its place.
  local added, ids = {}, {}
  for i in pairs(number_of) do added[ARGV[4 + i]] = true end
  for n, id in ipairs(old.ids) do ids[n] = not added[id] and id end
  report_endings('r', ids)
end
