-- How many places each key has.
local function read_limits(keys)
  local usual, limits = read_settings().key_limit or 1, {}
  if key_step.own_limits == nil then key_step.own_limits = redis.call('EXISTS', KEY_LIMITS) == 1 end
  local own = key_step.own_limits and redis.call('HMGET', KEY_LIMITS, unpack(keys)) or {}
  for i, key in ipairs(keys) do limits[key] = limit_of(own[i], usual) end
  return limits
end

-- Drops the numbers that are not leased from the places of those keys that are full, once for each key, and up to
-- MAX_LOOKS of them in a step: see rule 1 in parts/read_places.lua. A key that is too much for the step is `unknown`.
local MAX_LOOKS = 4000
local function drop_stale(keys, places, limits)
  local full, numbers = {}, {}
  for _, key in ipairs(keys) do
    local place = places[key]
    if place.count >= limits[key] and not key_step.looked[key] then
      if key_step.looks > 0 and key_step.looks + place.count > MAX_LOOKS then
        place.unknown = true
      else
        -- More than there can be is damage.
        local theirs = numbers_of(place, MAX_LOOKS)
        key_step.looked[key], key_step.looks, full[#full + 1] = true, key_step.looks + #theirs, key
        for _, number in ipairs(theirs) do numbers[#numbers + 1] = number end
      end
    end
  end
  if #numbers == 0 then return end
  local n, scores = 0, redis.call('ZMSCORE', LEASED, unpack(numbers))
  for _, key in ipairs(full) do
    local place, stale = places[key], {}
    for _ = 1, math.min(place.count, MAX_LOOKS) do
      n = n + 1
      if not scores[n] then stale[#stale + 1] = numbers[n] end
    end
    if #stale > 0 then leave_places(place, stale) end
  end
end
