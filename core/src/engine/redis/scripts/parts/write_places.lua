-- Numbers that take places wait in `place.new` until their text is needed: appending each alone would copy all others.
local function taken_of(place)
  if place.new then place.taken, place.new = place.taken .. table.concat(place.new, ' ') .. ' ', nil end
  return place.taken
end

local function has_place(place, number) return string.find(taken_of(place), ' ' .. number .. ' ', 1, true) end

local function take_place(place, number)
  local new = place.new
  if not new then
    new = {}
    place.new = new
  end
  new[#new + 1] = number
  place.count, place.changed = place.count + 1, true
end

local function leave_places(place, numbers)
  local before, rest = taken_of(place), nil
  if numbers[2] then
    -- All in one pass, because each number alone would copy all others.
    local gone = {}
    for _, number in ipairs(numbers) do gone[number .. ' '] = '' end
    rest = string.gsub(before, '[^ ]+ ', gone)
  else
    local from, to = has_place(place, numbers[1])
    rest = from and string.sub(before, 1, from) .. string.sub(before, to + 1) or before
  end
  if rest == before then return end
  local _, spaces = string.gsub(rest, ' ', ' ')
  place.taken, place.count, place.changed = rest, spaces - 1, true
end

local function value_of(place)
  return (place.flag and string.format('%016d', place.flag + MIDDLE) or '') .. taken_of(place)
end

-- Makes the line of a key begin at this rank, or at a lower one.
local function flag(place, rank)
  if not place.flag or rank < place.flag then place.flag, place.changed = rank, true end
end

-- Writes the places of those of the keys that have `changed`. `changed`: pairs of others and their places, if there are any.
local function write_places(keys, places, changed)
  changed = changed or {}
  local empty = {}
  for _, key in ipairs(keys) do
    local place = places[key]
    if place.changed and (place.flag or place.count > 0) then
      changed[#changed + 1] = key
      changed[#changed + 1] = value_of(place)
    elseif place.changed and place.stored then
      empty[#empty + 1] = key
    end
  end
  if #changed > 0 then redis.call('HSET', PLACES, changed[1], LONG, unpack(changed)) end
  if #empty > 0 then redis.call('HDEL', PLACES, unpack(empty)) end
end

-- Opens flagged keys: their lines may move.
local function open_keys(keys, places)
  if #keys == 0 then return end
  local scored = {}
  for n, key in ipairs(keys) do scored[2 * n - 1], scored[2 * n] = text(places[key].flag), key end
  redis.call('ZADD', OPEN, 'LT', unpack(scored))
  key_step.opened, key_step.none_open = true, false
end
