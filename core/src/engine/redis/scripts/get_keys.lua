-- Reads the limits of keys, and how many of their items are leased: of as many of the first keys as a step may look at.
-- KEYS  see parts/keys.lua
-- ARGV  the keys (at most 1,000)
-- Reply for each of the first keys its limit, 1 if it is its own (else 0), and how many items are leased
local MAX_PLACES = 4000
local keys = { unpack(ARGV) }
local own, usual = redis.call('HMGET', KEY_LIMITS, unpack(keys)), read_settings().key_limit or 1
local places, numbers, count = read_places(keys), {}, 0
for i, key in ipairs(keys) do
  local place = places[key]
  if i > 1 and #numbers + place.count > MAX_PLACES then break end
  count = i
  -- More than the highest limit is damage.
  for _, number in ipairs(numbers_of(place, MAX_PLACES)) do numbers[#numbers + 1] = number end
end
local leased, n, reply = #numbers > 0 and redis.call('ZMSCORE', LEASED, unpack(numbers)), 0, {}
for i = 1, count do
  local limit, found = limit_of(own[i], nil), 0
  for _ = 1, math.min(places[keys[i]].count, MAX_PLACES) do
    n = n + 1
    if leased[n] then found = found + 1 end
  end
  reply[#reply + 1] = limit or usual
  reply[#reply + 1] = limit and 1 or 0
  reply[#reply + 1] = found
end
return reply
