-- What notes add: at most MOST items, but at least those of one note. Items of one step do not depend on each other. A note is a
-- table of
--   kinds, letter, name, number   see parts/fire.lua; the letter as a byte, the name nil if it cannot be read
--   packed, owner, first          what is stored under the name, whose it is, and where its first item begins; nil: damage
--   wants_result, result          whether a follow-up wants the result of the completion, and this
--   untrue                        its item has not ended
--   requeued                      it was requeued since
--   tell                          what another queue is told, instead of all that: see parts/tell.lua
local MOST = 1000
local DEATH, ADDED, LAST, GROUP_END = 100, 97, 108, 103 -- the letters `d`, `a`, `l` and `g`

local function add_packed(note, packed)
  note.packed = packed
  if packed and #packed >= 2 then note.owner, note.first = owner_of_packed(packed) end -- else damage
end

-- What the first notes add: `items`; `entries` for other queues, each with `queue` and `packed`; how many elements of DEFERRED
-- that are (`count`), and whether these are all of the notes (`is_all`); the fields of FOLLOW_UPS that go with them (`done`),
-- and entries of MEMBERS (`left`); whether two items have the same unique key (`twice`). Notes that are `together` (of so many
-- elements) are done in one step: each adds a plain item, unless an earlier one has its id.
local function collect(notes)
  local found = { items = {}, entries = {}, done = {}, left = {}, twice = false, count = 0 }
  local ids, uniques, items, entries, done, none = {}, {}, found.items, found.entries, found.done, {}
  local was_attached = #notes > 0 and read_settings().attached
  -- A script that has stopped behind its notes and was repeated has written the last note of an item twice; or a sweep has made
  -- the item dead whose death was noted before. A requeue begins a new run.
  local had_last, had_death = {}, {}
  for n = 1, #notes do
    local note, fine, theirs = notes[n], true, none
    local is_true = note.owner and not note.untrue and not had_last[note.name]
    if is_true and note.letter == DEATH then
      is_true = not had_death[note.name] or redis.call('HEXISTS', FOLLOW_UPS, note.name .. 'q') == 1
      had_death[note.name] = true
    end
    if is_true and note.kinds > 0 then
      fine, theirs = pcall(unpack_items, note.packed, note.first, note.kinds, note.owner, note.result)
    end
    if not fine then theirs = none end
    if is_true and is_of_member(note) then
      local read, report = pcall(report_of, note)
      if read and report then theirs = { report, unpack(theirs) } end
    end
    if note.tell then theirs = told_by(note) end
    local depends = #items + #entries + #theirs > MOST
    for i = 1, #theirs do
      local item = theirs[i]
      depends = depends or item.id and ids[item.id] or item.unique and item.replaces and uniques[item.unique]
    end
    if notes.together then
      if theirs[1] and ids[theirs[1].id] then theirs = none end
    elseif depends and n > 1 then
      break
    end
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
      local group = group_named(note.name, note.packed)
      if group then found.left[#found.left + 1] = group .. ' ' .. note.name end
      if was_attached and note.letter == LAST then done[#done + 1] = note.number .. '+' end
      if note.wants_result then done[#done + 1] = note.name .. 'r' end
    end
    if note.requeued then done[#done + 1] = note.name .. 'q' end
  end
  found.is_all = found.count == #notes
  found.count = notes.together or found.count
  return found
end
