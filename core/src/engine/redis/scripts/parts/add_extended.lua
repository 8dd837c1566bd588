-- As parts/add_plain.lua, for extended queues: items may be retained, have unique keys, and replace others.
local options, at = {}, 5 + 2 * count
local options_end = at + 4 * tonumber(ARGV[at])
for i = at + 1, options_end, 4 do options[tonumber(ARGV[i])] = i + 1 end

-- The options that only extended queues know.
local extended, usual, differing = options_end < #ARGV, options_end + 1, {}
local keys, named, conflict, keyed, followed = {}, {}, false, false, {} -- keys, followed: by index
local members -- index of a member of a group to where its name is; nil: there are none. See parts/note_places.lua
local all_followed -- where the first name is, if each item has follow-ups; nil if anything is in the way
if extended then
  local place = usual + 3
  local differing_end = place + 4 * tonumber(ARGV[place])
  for i = place + 1, differing_end, 4 do differing[tonumber(ARGV[i])] = i + 1 end
  place = differing_end + 1
  all_followed = ARGV[place] == '*' and place + 1 or nil
  local follow_ups_end = place + (all_followed and 2 * count or 3 * tonumber(ARGV[place]))
  for i = place + 1, all_followed and 0 or follow_ups_end, 3 do
    local index = tonumber(ARGV[i])
    followed[index] = i + 1
    if string.byte(ARGV[i + 1]) % 4 >= 2 then
      members = members or {}
      members[index] = i + 1
    end
  end
  keyed = ARGV[follow_ups_end + 1] == '1'
  place = follow_ups_end + 3
  conflict = ARGV[place - 1] == '1'
  if tonumber(ARGV[place]) == count then
    keys = { unpack(ARGV, place + 1, place + count) }
    named = keys
  else
    for i = place + 1, #ARGV, 2 do keys[tonumber(ARGV[i])], named[#named + 1] = ARGV[i + 1], ARGV[i + 1] end
  end
end

-- Whether items may be in each other's way, or have others in their way: their ids or unique keys have an entry.
for i = 1, count do conflict = conflict or known[i] end
local entries = #named > 0 and not conflict and redis.call('HMGET', UNIQUES, unpack(named)) or {}
for n = 1, #entries do conflict = conflict or entries[n] end
-- Those that make room for others, those that have expired and lose their keys, and those that wait as successors.
local old, expired, waits_for
if conflict or redis.call('EXISTS', SUCCESSORS) == 1 then
  for i = 1, all_followed and count or 0 do followed[i] = all_followed + 2 * i - 2 end
  all_followed = nil
  old, expired, waits_for = find_conflicts(known, count, keys, function(i)
    return extended and ARGV[(differing[i] or usual) + 1] or '0'
  end)
end
if waits_for then
  make_extended(meta[4])
  if keyed then redis.call('HSET', META, 'keyed', 1) end
  meta[1] = store_successors(waits_for, function(i) return options[i], differing[i] or usual end, keys, followed, meta[1],
    count_before, forwarded)
  local over = { numbers = {}, ids = {}, known = {}, replaced = 0 }
  for i, waits in pairs(waits_for) do
    if waits.over then
      local n = #over.numbers + 1
      over.numbers[n], over.ids[n], over.known[n] = waits.over, ARGV[4 + i], true
    end
  end
  make_room(over.numbers[1] and over, expired, waits_for)
  expired = {}
end

-- Writes the follow-ups of the new items. `number_of`: index of an item that is added to its number.
local function write_follow_ups(number_of)
  if all_followed then redis.call('HSET', FOLLOW_UPS, unpack(ARGV, all_followed, all_followed + 2 * count - 1)) end
  local names, n = {}, 0
  for i = 1, next(followed) and count or 0 do
    local name_at = followed[i]
    if name_at and number_of[i] then
      names[n + 1], names[n + 2], n = ARGV[name_at], ARGV[name_at + 1], n + 2
    end
  end
  if members then redis.call('HSET', META, 'members', 1) end
  if members and join_groups then join_groups(names, true) end
  if #names > 0 then redis.call('HSET', FOLLOW_UPS, unpack(names)) end
  followed = {}
end

-- Writes what extended queues keep for the new items, and deletes those that make room for them. Then their ids
-- are written. `has_room`: what is called when all is gone that makes room.
local before_ids = (old or extended) and function(number_of, has_room)
  make_extended(meta[4])
  if keyed then redis.call('HSET', META, 'keyed', 1) end
  write_follow_ups(number_of)
  local key_of, owners, owning, timers, expiries = keys, {}, 0, {}, {}
  for i = 1, #named > 0 and count or 0 do
    local key, number = key_of[i], number_of[i]
    if key and number then
      owners[owning + 1], owners[owning + 2] = key, number
      owning = owning + 2
    end
  end
  local has_times = extended and (next(differing) or ARGV[usual] ~= '0' or ARGV[usual + 2] ~= '0')
  for i, number in pairs((has_times or old) and number_of or {}) do
    local key, options_at = key_of[i], differing[i] or usual
    local expires_in = extended and ARGV[options_at + 2] or '0'
    if expires_in ~= '0' then
      expiries[#expiries + 1] = text(now + expires_in)
      expiries[#expiries + 1] = number
    end
    if key then
      local reserved_until = old and old.reserved_until[key] or 0
      local reserved = ARGV[options_at]
      if reserved ~= '0' then reserved_until = math.max(reserved_until, now + reserved) end
      if reserved_until > now then
        timers[#timers + 1] = text(reserved_until)
        timers[#timers + 1] = key
      end
    end
  end
  if #expiries > 0 then redis.call('ZADD', EXPIRIES, unpack(expiries)) end
  if expired then make_room(old, expired, number_of) end
  if has_room then has_room() end
  if owning > 0 then redis.call('HSET', UNIQUES, owners[1], LONG, unpack(owners)) end
  if #timers > 0 then redis.call('ZADD', TIMERS, unpack(timers)) end
end

-- Notes what is added and replaced, before anything is written. `names`: ids and numbers; `numbers`: nil, or all numbers, if all
-- items of the call are added.
local note_added = has_events() and function(names, numbers)
  local ids = numbers and { unpack(ARGV, 5, 4 + count) } or {}
  if not numbers then
    numbers = {}
    for n = 1, #names / 2 do ids[n], numbers[n] = names[2 * n - 1], names[2 * n] end
  end
  if old then note_events('p', old.there, old.their_ids) end
  note_events('a', numbers, ids)
end

