-- Tells the groups of the members of an add what the places are that these are to take. It comes behind the add, so what is in
-- the way of one may also be another one of the call, and wherever the script stops, a repeat finds what is there.
--   refused   something has the id or the unique key of the member, and not its place: the place has ended, if it is open
--   added     the place is open again, if an earlier add was refused
-- If what is in the way has the same place, the add is a repeat, and the member counts as added. META has `refused` if the queue
-- has ever refused a member; while it has not, no place needs to be opened again. What notes of parts/fire.lua name is the place
-- alone, under a name of its own, as the item may have the name by the time when the note is read.
local REFUSED_PLACE, ADDED_PLACE = 8, 16 -- flags of names: see parts/fire.lua

-- The place (see parts/reports.lua) that is packed so, nil if there is none; and whose it is.
local function place_of(packed)
  local id, first = owner_of_packed(packed)
  local length, on = struct.unpack('>I4B', packed, first)
  return on == 0 and string.sub(packed, first, first + 3 + length) or nil, id
end

-- Marks those of these members as `added` that something in their way has the place of: it has their id or unique key.
local function find_repeats(refused)
  local ids, keys, their, numbers, whose = {}, {}, {}, {}, {}
  for n, member in ipairs(refused) do
    ids[n] = member.id
    if member.key then keys[#keys + 1], their[#their + 1] = member.key, member end
  end
  for n, number in ipairs(redis.call('HMGET', IDS, unpack(ids))) do
    if number then numbers[#numbers + 1], whose[#whose + 1] = number, refused[n] end
  end
  for n, number in ipairs(#keys > 0 and redis.call('HMGET', UNIQUES, unpack(keys)) or {}) do
    if number then numbers[#numbers + 1], whose[#whose + 1] = number, their[n] end
  end
  for n, name in pairs(find_names(numbers) or {}) do
    -- One after the other, as they may be large together.
    local packed = string.byte(name) % 4 >= 2 and redis.call('HGET', FOLLOW_UPS, name)
    local fine, place = pcall(place_of, packed or '')
    if fine and place == whose[n].place then whose[n].added = true end
  end
end

local function note_places(answer)
  local was_refused, all, refused = redis.call('HGET', META, 'refused'), {}, {}
  for i, at in pairs(members) do
    local member = { name = ARGV[at], key = keys[i], added = string.byte(answer, i) == 49 and i <= count }
    member.place, member.id = place_of(ARGV[at + 1])
    all[#all + 1] = member
    if not member.added then refused[#refused + 1] = member end
  end
  if #refused > 0 then find_repeats(refused) end
  local fields, notes, refuses = {}, {}, false
  local function note(member, flag)
    local packed = struct.pack('>I2', #member.id) .. member.id .. member.place
    local name = string.char(2 + flag) .. struct.pack('>I4', #packed) .. string.sub(member.name, 6)
    fields[#fields + 1], fields[#fields + 2], notes[#notes + 1] = name, packed, '0a' .. name
  end
  for _, member in ipairs(refused) do
    if not member.added then
      note(member, REFUSED_PLACE)
      refuses = true
    end
  end
  for _, member in ipairs((was_refused or refuses) and all or {}) do
    if member.added then note(member, ADDED_PLACE) end
  end
  if #notes == 0 then return end
  if refuses and not was_refused then redis.call('HSET', META, 'format', EXTENDED, 'refused', 1) end
  redis.call('HSET', FOLLOW_UPS, unpack(fields))
  write_notes(notes)
end
