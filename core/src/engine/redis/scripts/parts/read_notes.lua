-- Reads the first notes of DEFERRED: at most MOST_NOTES, and MAX_REPLY bytes, but at least one. See parts/fire.lua. In front of
-- the notes a mark may stand, see parts/reserve_numbers.lua.

-- Returns the notes: for each kinds, the letter as a byte, name, number, and whether a follow-up wants the result. And what the
-- mark says: the numbers of the first entry and of the first item that these notes add. Then whether the first note is for
-- cancel_members.lua, which nothing is read behind.
local TELLS, CANCELS = 116, 115 -- the letters `t` and `s`
local function read_notes()
  local byte, sub, read_size = string.byte, string.sub, struct.unpack
  local notes, room, found = {}, MAX_REPLY, redis.call('LRANGE', DEFERRED, 0, MOST_NOTES)
  local count, first, first_item = string.match(found[1] or '', '^#(%d+) ([^ ]+) ([^ ]+)$')
  if count then table.remove(found, 1) end
  for n = 1, math.min(#found, count and tonumber(count) or MOST_NOTES) do
    local note = found[n]
    local kinds, letter = byte(note, 1, 2)
    if letter == CANCELS then return notes, first, first_item, n == 1 end
    local tell = letter == TELLS and sub(note, 3) or nil
    local name, number = sub(note, 3, 2 + NAME), sub(note, 3 + NAME)
    kinds = (kinds or 48) - 48
    if tell or kinds < 0 or kinds > 8 or #name < NAME then kinds, name = 0, nil end -- damage: it is dropped
    local wants_result = name and kinds % 2 == 1 and byte(name) % 2 == 1
    room = room - #(tell or '') - (name and read_size('>I4', name, 2) or 0) - (wants_result and MAX_COPIED_RESULT or 0)
    if room < 0 and n > 1 then break end
    notes[n] = { kinds = kinds, letter = letter, name = name, number = number, wants_result = wants_result, tell = tell }
  end
  return notes, first, first_item, false
end

-- Adds to the notes what they name, `packed`, whose it is, and the result.
local function read_packed(notes)
  if #notes == 0 then return end
  local names, results, theirs = {}, {}, {}
  for n = 1, #notes do
    local note = notes[n]
    names[n] = note.name or ''
    if note.wants_result then results[#results + 1], theirs[#theirs + 1] = note.name .. 'r', note end
  end
  local packed = redis.call('HMGET', FOLLOW_UPS, unpack(names))
  for n = 1, #notes do add_packed(notes[n], notes[n].name and packed[n]) end
  for i, value in ipairs(#results > 0 and redis.call('HMGET', FOLLOW_UPS, unpack(results)) or {}) do theirs[i].result = value end
end

-- Marks notes of groups that have not ended, for the same reason. One that is gone had ended. See parts/groups.lua.
local function find_untrue_groups(notes)
  local headers, theirs = {}, {}
  for n = 1, #notes do
    local note = notes[n]
    if note.owner and note.letter == GROUP_END then headers[#headers + 1], theirs[#theirs + 1] = 'G' .. note.owner, note end
  end
  for i, found in ipairs(#headers > 0 and redis.call('HMGET', GROUPS, unpack(headers)) or {}) do
    local number, over = string.match(found or '', '^(%S+) %d+ %d+ %d+ ([01]) ')
    theirs[i].untrue = number == theirs[i].number and over == '0'
  end
end

-- Marks notes of items that have not ended or died, because the script that was to end them has stopped half-way. An item
-- that is alive may have died if it was requeued since, which FOLLOW_UPS knows then. One that was to be requeued is still dead.
local function find_untrue(notes)
  local ids, theirs, requeued, count = {}, {}, {}, 0
  for n = 1, #notes do
    local note = notes[n]
    if note.owner and note.letter ~= ADDED and note.letter ~= GROUP_END then
      count = count + 1
      ids[count], theirs[count] = note.owner, note
    end
  end
  local numbers, living, known = {}, {}, count > 0 and redis.call('HMGET', IDS, unpack(ids))
  for i = 1, count do
    local number = known[i]
    if number == theirs[i].number then numbers[#numbers + 1], living[#living + 1] = number, theirs[i] end
  end
  if #numbers == 0 then return end
  for _, set in ipairs({ COMPLETED, CANCELLED, DEAD }) do
    for i, score in ipairs(redis.call('ZMSCORE', set, unpack(numbers))) do
      if score and (set ~= DEAD or living[i].letter == DEATH or living[i].letter == OPENED) then numbers[i] = '' end
    end
  end
  for i, note in ipairs(living) do requeued[i] = note.name .. 'q' end
  for i, was_requeued in ipairs(redis.call('HMGET', FOLLOW_UPS, unpack(requeued))) do
    local note = living[i]
    note.requeued = note.letter == DEATH and was_requeued
    if note.letter == OPENED then
      note.untrue = numbers[i] == ''
    else
      note.untrue = numbers[i] ~= '' and not note.requeued and redis.call('HEXISTS', ITEMS, numbers[i]) == 1
    end
  end
end
