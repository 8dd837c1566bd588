-- The usual case: each of the completed items has one follow-up, for its own queue and without options, perhaps with
-- follow-ups of its own or with the trigger, as the steps of a chain have (IS_PLAIN in the flags of its name: see
-- follow_ups.rs). Then one note is about all of them, see parts/fire.lua. Returns whether it is that case; if not, nothing has
-- been written.
local function note_plain(numbers, names, results)
  local byte, count, room, kept = string.byte, #numbers, MAX_REPLY, {}
  if count > MOST_NOTES or read_settings().attached then return false end
  for i = 1, count do
    local name = names[i] or ''
    local flags, _, high, middle, low = byte(name, 1, 5)
    if #name ~= NAME or flags ~= IS_PLAIN and flags ~= IS_PLAIN + 1 then return false end
    room = room - (high * 65536 + middle * 256 + low)
    local result = flags > IS_PLAIN and results[i]
    if result and #result <= MAX_COPIED_RESULT then
      kept[#kept + 1], kept[#kept + 2], room = name .. 'r', result, room - #result
    end
  end
  if room < 0 then return false end
  if #kept > 0 then redis.call('HSET', FOLLOW_UPS, unpack(kept)) end
  write_notes({ '5p' .. table.concat(numbers, ' ') .. ':' .. table.concat(names, '', 1, count) })
  return true
end
