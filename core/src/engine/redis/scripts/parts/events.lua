-- Writes events before the changes themselves, so that none is lost if the script stops half-way. Whoever makes changes
-- that such a script has noted finds its mark, and notes none twice. See parts/event_entry.lua and parts/event_marks.lua.

-- What the step has to know at its first event.
local function begin_events()
  local meta = redis.call('HMGET', META, 'event', 'event_by', 'event_torn')
  local step = event_step
  step.last = tonumber(meta[1]) or (now - 1767225600000) * 256
  step.first, step.by = step.last + 1, ARGV[1] .. ' ' .. ARGV[2]
  if not meta[2] and (not meta[3] or meta[3] == '') then return end
  step.torn = read_marks((meta[3] or '') .. ',' .. (meta[2] or ''))
  local others = {}
  for _, mark in ipairs(step.torn) do
    if mark.by ~= step.by then others[#others + 1] = mark end
  end
  redis.call('HSET', META, 'event_torn', pack_marks(step.torn))
  step.settled = pack_marks(others)
end

-- What was noted since that mark: numbers of items.
local MAX_LATER = 1000
local function later_than(mark)
  local later = {}
  for _, entry in ipairs(redis.call('XRANGE', EVENTS, text(mark.last + 1), '+', 'COUNT', MAX_LATER)) do
    for _, event in ipairs(unpack_event_entry(entry[2])) do later[event.number] = true end
  end
  return later
end

-- Leaves out what a script that has stopped half-way has noted before. What it was about to add, or to give a new number,
-- has another number now: then its entry is replaced.
local function leave_out_known(kind, numbers, ids, attempts)
  local known, new_numbers, kept = {}, {}, {}
  for i = 1, ids and #numbers or 0 do new_numbers[ids[i]] = numbers[i] end
  for _, mark in ipairs(event_step.torn) do
    local later
    for _, entry in ipairs(redis.call('XRANGE', EVENTS, text(mark.first), text(mark.last))) do
      if entry[2][1] == kind then
        later = later or later_than(mark)
        local true_ones, untrue, any_later = {}, false, false
        for _, event in ipairs(unpack_event_entry(entry[2])) do
          local new = event.id and new_numbers[event.id]
          if later[event.number] then
            any_later = true
          elseif new and new ~= event.number then
            untrue = true
          else
            true_ones[#true_ones + 1] = event
            known[event.number .. ':' .. (event.attempt or '')] = true
          end
        end
        if untrue and not any_later then
          redis.call('XDEL', EVENTS, entry[1])
          for _, event in ipairs(true_ones) do kept[#kept + 1] = event end
        end
      end
    end
  end
  local left = { numbers = {}, ids = ids and {}, attempts = attempts and {} }
  local function append(number, id, attempt)
    local n = #left.numbers + 1
    left.numbers[n] = number
    if ids then left.ids[n] = id end
    if attempts then left.attempts[n] = attempt end
  end
  for _, event in ipairs(kept) do append(event.number, event.id, event.attempt) end
  for i, number in ipairs(numbers) do
    local attempt = attempts and attempts[i]
    if not known[number .. ':' .. (attempt and text(attempt) or '')] then append(number, ids and ids[i], attempt) end
  end
  return left.numbers, left.ids, left.attempts
end

-- Notes changes of one kind: the numbers of the items, their stored ids (nil: the step does not have them; false: it lacks
-- one), and their details, if the attempt matters: `counted` is 0 if they count it already, else 1.
local function note_events(kind, numbers, ids, details, counted)
  if #numbers == 0 then return end
  local attempts
  for i = 1, details and #numbers or 0 do
    local failures, expiries = string.match(details[i] or '', '^%d:%d+:%d+:(%d+):(%d+):')
    local attempt = failures and failures + expiries + counted or counted
    if attempt ~= 1 then attempts = attempts or {} end
    if attempts then attempts[i] = attempt ~= 1 and attempt end
  end
  for i = 1, ids and #numbers or 0 do
    if not ids[i] then ids = nil break end
  end
  local step = event_step
  if not step.last then begin_events() end
  if step.torn then
    numbers, ids, attempts = leave_out_known(kind, numbers, ids, attempts)
    if #numbers == 0 then return end
  end
  step.last = step.last + #numbers
  local last = text(step.last)
  local named, their_ids = pack_event_entry(numbers, ids, attempts)
  redis.call('HSET', META, 'event', last, 'event_by',
    text(step.first) .. ' ' .. last .. ' ' .. text(now) .. ' ' .. step.by)
  local id, oldest = last .. '-' .. text(now), text(math.max(0, step.last - step.most + 1))
  if ids then
    redis.call('XADD', EVENTS, 'MINID', '~', oldest, id, kind, named, 'i', their_ids)
  else
    redis.call('XADD', EVENTS, 'MINID', '~', oldest, id, kind, named)
  end
end
