-- EVENTS is a stream of changes. An entry has those of one kind that one step has made. Its id is the number of its last
-- event and the server time. Its first field is the letter of the kind: a added, l leased, c completed, f failed, e
-- expired, b released, d dead, q requeued, r removed, p replaced, x cancelled, v revised. The value has the numbers of the
-- items with spaces between, each followed by `:` and the attempt if that is known and not 1. A second field `i` has their
-- stored ids: the length of all, or their lengths with `,` between, then `:` and the ids.

-- Packs numbers, ids (nil: there are none) and attempts (false: 1, or none).
local function pack_event_entry(numbers, ids, attempts)
  local named = numbers
  if attempts then
    named = {}
    for i, number in ipairs(numbers) do named[i] = attempts[i] and number .. ':' .. text(attempts[i]) or number end
  end
  if not ids then return table.concat(named, ' ') end
  local length, lengths = #ids[1], nil
  for i = 2, #ids do
    if #ids[i] ~= length then lengths = {} end
  end
  for i = 1, lengths and #ids or 0 do lengths[i] = text(#ids[i]) end
  -- In one step, because Lua hashes every string that it makes.
  ids[0] = (lengths and table.concat(lengths, ',') or text(length)) .. ':'
  local their_ids = table.concat(ids, '', 0)
  ids[0] = nil
  return table.concat(named, ' '), their_ids
end

-- Of the fields of an entry: for each event number, attempt (false) and id (nil).
local function unpack_event_entry(fields)
  local events, at = {}, fields[4] and string.find(fields[4], ':', 1, true)
  local lengths, place = {}, (at or 0) + 1
  for length in string.gmatch(at and string.sub(fields[4], 1, at - 1) or '', '%d+') do
    lengths[#lengths + 1] = tonumber(length)
  end
  for number, attempt in string.gmatch(fields[2] or '', '([^ :]+):?(%d*)') do
    local length = at and (#lengths == 1 and lengths[1] or lengths[#events + 1] or 0)
    events[#events + 1] = { number = number, attempt = tonumber(attempt) or false,
      id = at and string.sub(fields[4], place, place + length - 1) }
    place = place + (length or 0)
  end
  return events
end
