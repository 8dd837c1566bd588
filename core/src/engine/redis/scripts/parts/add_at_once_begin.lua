-- The beginning of what adds follow-ups in the step that has ended their items, as distribute.lua would do it next.
local notes, first, first_item = notes_of_call(numbers, names, results, added, together), nil, nil
if not notes then return end
local found = collect(notes)
