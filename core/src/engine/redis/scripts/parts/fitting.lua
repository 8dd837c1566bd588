-- Returns how many records fit into `room` bytes, counted from the first but at least `least`, and the room
-- that is left. `details`: those of the items, which have the sizes.
local function fitting(details, room, least)
  for i = 1, #details do
    local packed = details[i]
    -- The third character begins the size: 0 unless the record is large.
    local size = LARGE_RECORD
    -- If it cannot be read, the record may have any size.
    if packed and string.byte(packed, 3) ~= 48 then size = tonumber(string.match(packed, '^%d:(%d+):')) or MAX_REPLY end
    room = room - size
    if room < 0 and i > least then return i - 1, room end
  end
  return #details, room
end
