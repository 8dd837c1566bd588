-- Reads the first notes of DEFERRED, and what they add: at most MOST items and MAX_REPLY bytes, but at least one note.
-- Items of one step do not depend on each other. See parts/fire.lua. In front of the notes a mark may stand, see
-- parts/write_entries.lua.
local MOST, MOST_NOTES = 1000, 500
local DEATH, ADDED, LAST, GROUP_END = 100, 97, 108, 103 -- the letters `d`, `a`, `l` and `g`

-- Returns the notes: for each kinds, the letter as a byte, name, number, and whether a follow-up wants the result. And what the
-- mark says: the number of the first entry that these notes write.
local function read_notes()
  local byte, sub, read_size = string.byte, string.sub, struct.unpack
  local notes, room, found = {}, MAX_REPLY, redis.call('LRANGE', DEFERRED, 0, MOST_NOTES)
  local count, first = string.match(found[1] or '', '^#(%d+) ([^ ]+)$')
  if count then table.remove(found, 1) end
  for n = 1, math.min(#found, count and tonumber(count) or MOST_NOTES) do
    local note = found[n]
    local kinds, letter = byte(note, 1, 2)
    local name, number = sub(note, 3, 2 + NAME), sub(note, 3 + NAME)
    kinds = (kinds or 48) - 48
    if kinds < 0 or kinds > 8 or #name < NAME then kinds, name = 0, nil end -- damage: it is dropped
    local wants_result = name and kinds % 2 == 1 and byte(name) % 2 == 1
    room = room - (name and read_size('>I4', name, 2) or 0) - (wants_result and MAX_COPIED_RESULT or 0)
    if room < 0 and n > 1 then break end
    notes[n] = { kinds = kinds, letter = letter, name = name, number = number, wants_result = wants_result }
  end
  return notes, first
end

-- Adds to the notes what they name, `packed`, and the result.
local function read_packed(notes)
  if #notes == 0 then return end
  local names, results, theirs = {}, {}, {}
  for n = 1, #notes do
    local note = notes[n]
    names[n] = note.name or ''
    if note.wants_result then results[#results + 1], theirs[#theirs + 1] = note.name .. 'r', note end
  end
  local packed = redis.call('HMGET', FOLLOW_UPS, unpack(names))
  for n = 1, #notes do notes[n].packed = notes[n].name and packed[n] end
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
    if note.packed and #note.packed >= 2 then -- else damage
      note.owner, note.first = owner_of_packed(note.packed)
      if note.letter ~= ADDED and note.letter ~= GROUP_END then
        count = count + 1
        ids[count], theirs[count] = note.owner, note
      end
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

-- What the first notes add: `items`; `entries` for other queues, each with `queue` and `packed`, and the number of the `first`
-- one, if it has one already; how many elements of DEFERRED that are (`count`); the fields of FOLLOW_UPS that go with them
-- (`done`); whether two items have the same unique key (`twice`).
local function collect()
  local notes, first = read_notes()
  local found = { items = {}, entries = {}, done = {}, twice = false, first = first, count = first and 1 or 0 }
  local ids, uniques, items, entries, done, none = {}, {}, found.items, found.entries, found.done, {}
  local was_attached = #notes > 0 and read_settings().attached
  read_packed(notes)
  find_untrue(notes)
  find_untrue_groups(notes)
  -- A script that has stopped behind its notes and was repeated has written the last note of an item twice.
  local had_last = {}
  for n = 1, #notes do
    local note, fine, theirs = notes[n], true, none
    local is_true = note.owner and not note.untrue and not had_last[note.name]
    if is_true and note.kinds > 0 then
      fine, theirs = pcall(unpack_items, note.packed, note.first, note.kinds, note.owner, note.result)
    end
    if not fine then theirs = none end
    if is_true and is_of_member(note) then
      local read, report = pcall(report_of, note)
      if read and report then theirs = { report, unpack(theirs) } end
    end
    local depends = #items + #entries + #theirs > MOST
    for i = 1, #theirs do
      local item = theirs[i]
      depends = depends or item.id and ids[item.id] or item.unique and item.replaces and uniques[item.unique]
    end
    if depends and n > 1 then break end
    for i = 1, #theirs do
      local item = theirs[i]
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
      if was_attached and note.letter == LAST then done[#done + 1] = note.number .. '+' end
      if note.wants_result then done[#done + 1] = note.name .. 'r' end
    end
    if note.requeued then done[#done + 1] = note.name .. 'q' end
  end
  return found
end
