-- How many of the records of items with these extras fit into `room` bytes, from the first on, but at
-- least `least`; and the room that is left then.
local function fitting(extras, room, least)
  for i = 1, #extras do
    local extra = extras[i]
    -- The size stands behind the priority and a colon. It is 0 unless the record is large.
    local size = extra and string.byte(extra, 3) ~= 48 and tonumber(string.match(extra, '^%d:(%d+):')) or LARGE
    room = room - size
    if room < 0 and i > least then return i - 1, room end
  end
  return #extras, room
end
