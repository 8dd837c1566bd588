-- Notes that those of the popped items are leased that exist.
local function note_leased(popped, found, known)
  if not has_events() then return end
  local numbers, details = {}, {}
  for i, number in ipairs(popped) do
    if found[i] then numbers[#numbers + 1], details[#numbers + 1] = number, known and known[i] end
  end
  note_events('l', numbers, nil, known and details, 1)
end
