-- Schedules. SCHEDULES has an entry for each name: its version (16 bytes), the stored id of the last item that it has added,
-- behind its length (2 bytes; 0: there is none), and its body, which only clients read. TICKS has the server time at
-- which each is due, if it is ever.

-- Returns version, last id and body; two empty strings and nil for what is no entry.
local function read_schedule(entry)
  if not entry or #entry < 18 then return '', '', nil end
  local last = 18 + struct.unpack('>I2', entry, 17)
  return string.sub(entry, 1, 16), string.sub(entry, 19, last), string.sub(entry, last + 1)
end
