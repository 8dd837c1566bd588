local OPENED = 111 -- the letter `o` of a note
local function is_of_member(note) return string.byte(note.name) % 4 >= 2 end

-- What a note of a member reports to its group; nil if nothing changes for its place. The place stands before the follow-ups:
--   its length (4 bytes), 0, the place (4 bytes), the length of the name of the group's queue (a byte), this, the length of the
--   stored id of the group (2 bytes), this, its number
local function report_of(note)
  local flags, state = string.byte(note.name), nil
  if flags >= 8 then
    state = flags >= 16 and '+' or 'r' -- see parts/note_places.lua
  else
    state = note.letter == OPENED and '-' or note.kinds % 2 == 1 and 'c' or note.kinds >= 4 and 'e'
  end
  if not state then return nil end
  local packed, at = note.packed, note.first
  local length, on, place, queue_length = struct.unpack('>I4BI4B', packed, at)
  if on ~= 0 then return nil end
  local queue_at = at + 10
  local report = '\0' .. state .. struct.pack('>I4', place) .. string.sub(packed, queue_at + queue_length, at + 3 + length)
  return { queue = string.sub(packed, queue_at, queue_at + queue_length - 1), packed = struct.pack('>I4', #report) .. report }
end

-- The entry of the outbox that says what a note tells.
local function told_by(note)
  local queue, report = string.match(note.tell, '^([^ ]+) (.+)$')
  return queue and { { queue = queue, packed = struct.pack('>I4', #report) .. report } } or {}
end
