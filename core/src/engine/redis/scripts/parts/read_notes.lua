-- Reads the first notes of DEFERRED: of at most MOST_NOTES ends, and MAX_REPLY bytes, but at least one element. See
-- parts/fire.lua. In front of the notes a mark may stand, see parts/reserve_numbers.lua.
local TELLS, CANCELS, TOGETHER = 116, 115, 112 -- the letters `t`, `s` and `p`

-- The notes in an element that parts/note_plain.lua has written, and how many bytes they may name. What is no such note is
-- damage, and dropped.
local function split_note(element)
  local notes, size, at = {}, 0, (string.find(element, ':', 3, true) or #element) + 1
  for number in string.gmatch(string.sub(element, 3, at - 2), '[^ ]+') do
    local name = string.sub(element, at, at + NAME - 1)
    local flags = #name == NAME and string.byte(name) or 0
    if #notes < MOST_NOTES and (flags == IS_PLAIN or flags == IS_PLAIN + 1) then
      local wants_result = flags > IS_PLAIN
      notes[#notes + 1] = { kinds = 5, letter = LAST, name = name, number = number, wants_result = wants_result }
      size = size + struct.unpack('>I4', name, 2) + (wants_result and MAX_COPIED_RESULT or 0)
    end
    at = at + NAME
  end
  return notes, size
end

-- Reads such elements of DEFERRED from this index on, at most so many: a few at a time, as each may have many ends. The notes
-- have `together`: of how many elements they are.
local SLICE = 16
local function read_together(from, most)
  local notes, room, slice = { together = 0 }, MAX_REPLY, nil
  while notes.together < most do
    local n = notes.together % SLICE + 1
    if n == 1 then slice = redis.call('LRANGE', DEFERRED, from + notes.together, from + notes.together + SLICE - 1) end
    if not slice[n] or string.byte(slice[n], 2) ~= TOGETHER then break end
    local theirs, size = split_note(slice[n])
    room = room - size
    if notes.together > 0 and (room < 0 or #notes + #theirs > MOST_NOTES) then break end
    for _, note in ipairs(theirs) do notes[#notes + 1] = note end
    notes.together = notes.together + 1
  end
  return notes
end

-- Returns the notes: for each kinds, the letter as a byte, name, number, and whether a follow-up wants the result. And what the
-- mark says: the numbers of the first entry and of the first item that these notes add. Then whether the first note is for
-- cancel_members.lua, which nothing is read behind.
local function read_notes()
  local byte, sub, read_size = string.byte, string.sub, struct.unpack
  local notes, room, found = {}, MAX_REPLY, redis.call('LRANGE', DEFERRED, 0, SLICE)
  local count, first, first_item = string.match(found[1] or '', '^#(%d+) ([^ ]+) ([^ ]+)$')
  local from, most = count and 1 or 0, tonumber(count or nil) or MOST_NOTES
  if byte(found[1 + from] or '', 2) == TOGETHER then return read_together(from, most), first, first_item, false end
  if #found > SLICE then found = redis.call('LRANGE', DEFERRED, 0, MOST_NOTES) end
  for n = 1, math.min(#found - from, most) do
    local note = found[from + n]
    local kinds, letter = byte(note, 1, 2)
    if letter == CANCELS or letter == TOGETHER then return notes, first, first_item, letter == CANCELS and n == 1 end
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
