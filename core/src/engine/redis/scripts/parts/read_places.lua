-- Keys limit how many items run at the same time. These hold at any time, wherever a script stops:
--   1  No lease is given before its number is in PLACES. A number in PLACES counts only while it is in LEASED; that is
--      looked at when a key is found full. So no end of a lease can leave a place taken, nor can a lease exceed the limit.
--   2  An entry of LINES counts only while HELD has its number with that rank. So who ends or moves a held item need not
--      know its key.
--   3  A key with entries in LINES has a flag in PLACES. A flagged key is in OPEN, or all its places are taken. Too much in
--      OPEN is harmless, so whoever ends leases opens the keys first. A key whose rate is used up opens in time.
--   4  A ready item whose key has a flag is leased only if a place is free and its rank would be below the flag. Else it is
--      held.
--   5  Only leases take places.

-- PLACES: key to its flag, nothing or the rank of the first item of its line, or a lower one (16 digits, plus 2^48), then a
-- space, and each number with a space behind it. Returns a table of `flag` (nil: none), `taken` (from the first space on) and
-- `count` (how many numbers, also those of parts/write_places.lua that are not in `taken` yet).
local function read_place(value)
  if not value then return { taken = ' ', count = 0 } end
  local flag, taken = string.match(value, '^(%d*)(.*)$')
  -- A damaged one may end without a space.
  if string.sub(taken, -1) ~= ' ' then taken = taken .. ' ' end
  local _, spaces = string.gsub(taken, ' ', ' ')
  return { taken = taken, count = spaces - 1, stored = value, flag = flag ~= '' and tonumber(flag) - MIDDLE or nil }
end

-- Those of these keys, by key.
local function read_places(keys)
  local places = {}
  for i, value in ipairs(redis.call('HMGET', PLACES, unpack(keys))) do places[keys[i]] = read_place(value) end
  return places
end

-- The first `most` numbers that have places.
local function numbers_of(place, most)
  local numbers = {}
  for number in string.gmatch(place.taken, ' ([^ ]+)') do
    if #numbers == most then break end
    numbers[#numbers + 1] = number
  end
  return numbers
end
