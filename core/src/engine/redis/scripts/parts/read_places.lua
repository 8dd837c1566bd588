-- Keys limit how many items run at the same time. These hold at any time, wherever a script stops:
--   1  No lease is given before its number is in PLACES. A number in PLACES counts only while it is in LEASED; that is
--      looked at when a key is found full. So no end of a lease can leave a place taken, nor can a lease exceed the limit.
--   2  An entry of LINES counts only while HELD has its number with that rank. So who ends or moves a held item need not
--      know its key.
--   3  A key with entries in LINES has a flag in PLACES. A flagged key is in OPEN, or all its places are taken (else, if a
--      script has stopped, until its next item is popped or a deep clean comes). Too much in OPEN is harmless.
--   4  A ready item whose key has a flag is leased only if a place is free and its priority is above the flag. Else it is held.
--   5  Only leases take places.

-- PLACES: key to its flag, '' or the highest priority of its line (an upper bound), then a space and a number for each
-- place. Returns a table of `numbers` and `flag` (nil: none).
local function read_place(value)
  local numbers = {}
  if not value then return { numbers = numbers } end
  for number in string.gmatch(value, ' ([^ ]+)') do numbers[#numbers + 1] = number end
  return { numbers = numbers, stored = value, flag = tonumber((string.match(value, '^%d?'))) }
end

-- Those of these keys, by key.
local function read_places(keys)
  local places = {}
  for i, value in ipairs(redis.call('HMGET', PLACES, unpack(keys))) do places[keys[i]] = read_place(value) end
  return places
end
