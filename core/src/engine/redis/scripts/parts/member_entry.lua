-- MEMBERS has an entry for each name in FOLLOW_UPS with the place of a member of a group: the queue of the group, its number and
-- the name, with spaces between. All have the score 0, so those of a group stand together. An entry is written before the
-- name, so one without it is harmless.

-- The queue and the number of the group with a space between, and its stored id, from what is stored under a name: see
-- parts/reports.lua.
local function read_group_of(packed)
  local at = 3 + struct.unpack('>I2', packed)
  local length, on, _, queue_length = struct.unpack('>I4BI4B', packed, at)
  if on ~= 0 then return nil end
  local id_at = at + 10 + queue_length
  local id_end = id_at + 1 + struct.unpack('>I2', packed, id_at)
  return string.sub(packed, at + 10, id_at - 1) .. ' ' .. string.sub(packed, id_end + 1, at + 3 + length),
    string.sub(packed, id_at + 2, id_end)
end

-- The same for this name; nil if it has no place, or cannot be read.
local function group_named(name, packed)
  -- Names with higher flags have a place alone: see parts/note_places.lua.
  if not packed or #name ~= NAME or math.floor(string.byte(name) / 2) ~= 1 then return nil end
  local fine, group, id = pcall(read_group_of, packed)
  if fine and group and string.match(group, '^[^ ]+ [^ ]+$') then return group, id end
end
