-- The notes of completed items, as parts/completions_fire.lua has written them or, if they are `together`, parts/note_plain.lua:
-- if they are all that DEFERRED has, and small enough for this step; else nil. What the step knows it need not read.
local function notes_of_call(numbers, names, results, added, together)
  local notes, named, room, byte = {}, {}, MAX_REPLY, string.byte
  local COMPLETES, ENDS, count = 1, 4, 0 -- see parts/fire.lua
  for i = 1, #numbers do
    local name = names[i]
    if name then
      local flags, _, high, middle, low = byte(name, 1, 5)
      local result = flags % 2 == 1 and results[i]
      if result and #result > MAX_COPIED_RESULT then result = false end
      room = room - (high * 65536 + middle * 256 + low) - (result and #result or 0)
      count = count + 1
      named[count] = name
      notes[count] = { kinds = COMPLETES + ENDS, letter = LAST, name = name, number = numbers[i],
        wants_result = flags % 2 == 1, result = result }
    end
  end
  for i, value in pairs(added) do
    room, count = room - #value, count + 1
    notes[count] = { kinds = COMPLETES, letter = ADDED, name = string.sub(value, 1, NAME), number = numbers[i] }
    add_packed(notes[count], string.sub(value, NAME + 1))
  end
  if count > MOST_NOTES or room < 0 or redis.call('LLEN', DEFERRED) ~= (together and 1 or count) then return nil end
  notes.together = together and 1
  for n, packed in ipairs(#named > 0 and redis.call('HMGET', FOLLOW_UPS, unpack(named)) or {}) do add_packed(notes[n], packed) end
  return notes
end
