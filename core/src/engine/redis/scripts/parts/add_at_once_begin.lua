-- The beginning of what adds follow-ups in the step that has ended their items, as distribute.lua would do it next.
local found, notes, first, first_item = plain, nil, nil, nil
if not found then
  notes = notes_of_call(numbers, names, results, added)
  if not notes then return end
  found = collect(notes)
end
