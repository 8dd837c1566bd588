-- Notes that those of the popped items are leased that exist: so many.
local function note_leased(popped, found, known, existing)
  if not has_events() then return end
  if existing == #popped then return note_events('l', popped, nil, known, 1) end
  local numbers, details, count = {}, {}, 0
  for i, number in ipairs(popped) do
    if found[i] then
      count = count + 1
      numbers[count], details[count] = number, known and known[i]
    end
  end
  note_events('l', numbers, nil, known and details, 1)
end
