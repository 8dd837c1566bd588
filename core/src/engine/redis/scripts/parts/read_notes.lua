-- Reads the first notes of DEFERRED, and what they add: at most MOST items and MAX_REPLY bytes, but at least one note.
-- Items of one step do not depend on each other. See parts/fire.lua. In front of the notes a mark may stand, see
-- parts/write_entries.lua.
local MOST, MOST_NOTES = 1000, 500
local DEATH, ADDED, LAST, GROUP_END = 100, 97, 108, 103 -- the letters `d`, `a`, `l` and `g`

-- Returns the notes: for each kinds, the letter as a byte, name, number, and whether a follow-up wants the result. And what the
-- mark says: the number of the first entry that these notes write.
local function read_notes()
  local notes, room, found = {}, MAX_REPLY, redis.call('LRANGE', DEFERRED, 0, MOST_NOTES)
  local count, first = string.match(found[1] or '', '^#(%d+) ([^ ]+)$')
  if count then table.remove(found, 1) end
  for n = 1, math.min(#found, count and tonumber(count) or MOST_NOTES) do
    local note = found[n]
    local kinds, letter = string.byte(note, 1, 2)
    local name, number = string.sub(note, 3, 2 + NAME), string.sub(note, 3 + NAME)
    kinds = (kinds or 48) - 48
    if kinds < 0 or kinds > 8 or #name < NAME then kinds, name = 0, nil end -- damage: it is dropped
    local wants_result = name and kinds % 2 == 1 and string.byte(name) % 2 == 1
    room = room - (name and struct.unpack('>I4', name, 2) or 0) - (wants_result and MAX_COPIED_RESULT or 0)
    if room < 0 and n > 1 then break end
    notes[n] = { kinds = kinds, letter = letter, name = name, number = number, wants_result = wants_result }
  end
  return notes, first
end

-- Adds to the notes what they name, `packed`, and the result.
local function read_packed(notes)
  local names, places, fields = {}, {}, {}
  for n, note in ipairs(notes) do
    local at = #names + 1
    if note.name then names[at], places[at], fields[at] = note.name, n, 'packed' end
    if note.wants_result then names[at + 1], places[at + 1], fields[at + 1] = note.name .. 'r', n, 'result' end
  end
  for i, value in ipairs(#names > 0 and redis.call('HMGET', FOLLOW_UPS, unpack(names)) or {}) do
    notes[places[i]][fields[i]] = value
  end
end

-- Marks notes of groups that have not ended, for the same reason. One that is gone had ended. See parts/groups.lua.
local function find_untrue_groups(notes)
  local headers, theirs = {}, {}
  for _, note in ipairs(notes) do
    if note.owner and note.letter == GROUP_END then headers[#headers + 1], theirs[#theirs + 1] = 'G' .. note.owner, note end
  end
  for i, found in ipairs(#headers > 0 and redis.call('HMGET', KEYS[LAST_KEY + 1], unpack(headers)) or {}) do
    local number, over = string.match(found or '', '^(%S+) %d+ %d+ %d+ ([01]) ')
    theirs[i].untrue = number == theirs[i].number and over == '0'
  end
end

-- Marks notes of items that have not ended or died, because the script that was to end them has stopped half-way. An item
-- that is alive may have died if it was requeued since, which FOLLOW_UPS knows then. One that was to be requeued is still dead.
local function find_untrue(notes)
  local ids, theirs, requeued = {}, {}, {}
  for _, note in ipairs(notes) do
    local fine, owner, first = pcall(owner_of_packed, note.packed)
    if fine then
      note.owner, note.first = owner, first
      if note.letter ~= ADDED and note.letter ~= GROUP_END then ids[#ids + 1], theirs[#theirs + 1] = owner, note end
    end
  end
  local numbers, living = {}, {}
  for i, number in ipairs(#ids > 0 and redis.call('HMGET', IDS, unpack(ids)) or {}) do
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

-- What the first notes add: `items`; `entries` for other queues, each with `queue` and `packed`, and the number of the `first`
-- one, if it has one already; how many elements of DEFERRED that are (`count`); the fields of FOLLOW_UPS that go with them
-- (`done`); whether two items have the same unique key (`twice`).
local function collect()
  local notes, first = read_notes()
  local found = { items = {}, entries = {}, done = {}, twice = false, first = first, count = first and 1 or 0 }
  local ids, uniques, items, entries, done = {}, {}, found.items, found.entries, found.done
  read_packed(notes)
  find_untrue(notes)
  find_untrue_groups(notes)
  -- A script that has stopped behind its notes and was repeated has written the last note of an item twice.
  local had_last = {}
  for n, note in ipairs(notes) do
    local fine, theirs = true, {}
    local is_true = note.owner and not note.untrue and not had_last[note.name]
    if is_true and note.kinds > 0 then
      fine, theirs = pcall(unpack_items, note.packed, note.first, note.kinds, note.owner, note.result)
    end
    if not fine then theirs = {} end
    local read, report = pcall(report_of, note)
    if is_true and read and report then table.insert(theirs, 1, report) end
    local depends = #items + #entries + #theirs > MOST
    for _, item in ipairs(theirs) do
      depends = depends or item.id and ids[item.id] or item.unique and item.replaces and uniques[item.unique]
    end
    if depends and n > 1 then break end
    for _, item in ipairs(theirs) do
      if item.queue then
        entries[#entries + 1] = item
      else
        items[#items + 1], ids[item.id] = item, true
      end
      if item.unique then found.twice, uniques[item.unique] = found.twice or uniques[item.unique], true end
    end
    found.count = found.count + 1
    if note.name and note.letter ~= DEATH and note.letter ~= OPENED and not note.untrue then
      had_last[note.name] = true
      done[#done + 1] = note.name
      if note.letter == LAST then done[#done + 1] = note.number .. '+' end
      if note.wants_result then done[#done + 1] = note.name .. 'r' end
    end
    if note.requeued then done[#done + 1] = note.name .. 'q' end
  end
  return found
end
