-- How many places each key has.
local function read_limits(keys)
  local usual, limits = read_settings().key_limit or 1, {}
  if key_step.own_limits == nil then key_step.own_limits = redis.call('EXISTS', KEY_LIMITS) == 1 end
  local own = key_step.own_limits and redis.call('HMGET', KEY_LIMITS, unpack(keys)) or {}
  for i, key in ipairs(keys) do limits[key] = limit_of(own[i], usual) end
  return limits
end

-- Drops the numbers that are not leased from the places of those keys that are full, once for each key, and up to
-- MAX_LOOKS of them in a step: see rule 1 in parts/read_places.lua.
local MAX_LOOKS = 4000
local function drop_stale(keys, places, limits)
  local full, numbers = {}, {}
  for _, key in ipairs(keys) do
    local theirs = places[key].numbers
    if #theirs >= limits[key] and not key_step.looked[key] and #numbers + #theirs <= MAX_LOOKS then
      key_step.looked[key], full[#full + 1] = true, key
      for _, number in ipairs(theirs) do numbers[#numbers + 1] = number end
    end
  end
  if #numbers == 0 then return end
  local n, scores = 0, redis.call('ZMSCORE', LEASED, unpack(numbers))
  for _, key in ipairs(full) do
    local place, kept = places[key], {}
    for _, number in ipairs(place.numbers) do
      n = n + 1
      if scores[n] then kept[#kept + 1] = number else place.changed = true end
    end
    place.numbers = kept
  end
end
