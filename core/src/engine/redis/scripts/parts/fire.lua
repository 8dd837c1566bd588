-- What items fire when they end. A step that ends items only writes a note to DEFERRED for each that has follow-ups, whatever
-- it fires, before it writes the end: so it stays within its budget, and notes keep the order of the ends. distribute.lua
-- adds the follow-ups.
-- FOLLOW_UPS has the packed follow-ups of an item by a name, which stands in the head of its record. Notes have
--   a digit  what fires: the sum of 1 (completion), 2 (death) and 4 (end of the run); or 8: nothing, but a member of a group has
--            been replaced, which ends its place
--   a letter `l`: it is the last note of the item, whose number is gone or retained; `d`: the item is dead, so it may be
--            completed late, or requeued, which begins a new run; `a`: it is about what a call adds, or was to add; `o`: a member
--            of a group is requeued, and nothing fires; `g`: it is about a group that has ended
--   the name, and the number of the item
-- `5p`: as `5l` of one or more completed items, see parts/note_plain.lua: their numbers with spaces between, `:`, their names.
-- `0t`: another queue is told something, see parts/tell.lua. `0s`: members of a cancelled group are to be cancelled, which
-- cancel_members.lua does: the queue of the group, its number, and the name behind which it goes on, with spaces between; or `=`
-- and the names of all that are meant, instead of one name.
-- The first byte of a name has flags: 1 if a follow-up wants the result of the completion, 2 if there is the place of a member of
-- a group, 4 if completions may add what it names as parts/add_plain_follow_ups.lua does; 8 and 16 see parts/note_places.lua.
local COMPLETES, DIES, ENDS = 1, 2, 4

-- Items that end now, and fire this. `names`: by index, nil if none has any. `letter`: see above. `results`: by index, those
-- of completions; they are kept for follow-ups that want them.
local function fire(numbers, names, kinds, letter, results)
  local notes, count, kept, head = {}, 0, {}, text(kinds) .. letter
  for i = 1, names and #numbers or 0 do
    local name, result = names[i], results and results[i]
    if name then
      count = count + 1
      notes[count] = head .. name .. numbers[i]
    end
    if name and result and string.byte(name) % 2 == 1 and #result <= MAX_COPIED_RESULT then
      kept[#kept + 1] = name .. 'r'
      kept[#kept + 1] = result
    end
  end
  if #kept > 0 then redis.call('HSET', FOLLOW_UPS, unpack(kept)) end
  write_notes(notes)
end

-- The same for items that are in any state: `kinds` fires for those that have not ended yet. One that is dead has fired its
-- death. One that has expired, which nobody has noticed yet, dies first, unless it `was_leased`.
local function fire_by_state(numbers, names, kinds, results, was_leased)
  if not names then return end
  local scores = {}
  for name, set in pairs({ leased = LEASED, dead = DEAD, completed = COMPLETED, cancelled = CANCELLED, expires = EXPIRIES }) do
    scores[name] = redis.call('ZMSCORE', set, unpack(numbers))
  end
  local dying, living, dead = {}, {}, {} -- names by index
  for i = 1, #numbers do
    local name = names[i] or nil
    local expired = not was_leased and not scores.leased[i] and has_passed(scores.expires[i])
    local has_fired = scores.completed[i] or scores.cancelled[i]
    if not has_fired and (scores.dead[i] or expired) then
      dead[i] = name
      dying[i] = not scores.dead[i] and name or nil
    elseif not has_fired then
      living[i] = name
    end
  end
  fire(numbers, dying, DIES + ENDS, 'd')
  fire(numbers, living, kinds, 'l', results)
  fire(numbers, dead, kinds % 2 * COMPLETES, 'l', results)
end

-- What calls add that end these items: a name and packed items, by index.
local function fire_added(numbers, added)
  local packed, notes, head = {}, {}, text(COMPLETES) .. 'a'
  for i, value in pairs(added) do
    local name = string.sub(value, 1, NAME)
    packed[#packed + 1] = name
    packed[#packed + 1] = string.sub(value, NAME + 1)
    notes[#notes + 1] = head .. name .. numbers[i]
  end
  if #packed > 0 then redis.call('HSET', FOLLOW_UPS, unpack(packed)) end
  write_notes(notes)
end

-- Items that die now.
local function fire_deaths(numbers) fire(numbers, find_names(numbers), DIES + ENDS, 'd') end

-- Items that are removed, or replaced, which fires nothing but ends the places of members.
local function fire_removals(numbers) fire_by_state(numbers, find_names(numbers), ENDS) end
local function fire_replacements(numbers) fire_by_state(numbers, find_names(numbers), 8) end

-- Items with follow-ups that are requeued, which opens the places of members. If the note of a death still waits, distribute.lua
-- finds its item alive.
local function note_requeued(names, numbers)
  if #names == 0 then return end
  local fields, notes, waits = {}, {}, redis.call('EXISTS', DEFERRED) == 1
  for i, name in ipairs(names) do
    fields[2 * i - 1], fields[2 * i] = name .. 'q', '1'
    if math.floor(string.byte(name) / 2) % 2 == 1 then notes[#notes + 1] = '0o' .. name .. numbers[i] end
  end
  if waits then redis.call('HSET', FOLLOW_UPS, unpack(fields)) end
  write_notes(notes)
end
