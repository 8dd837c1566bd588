-- The usual case: each of these completed items has one follow-up, for its own queue and without options, perhaps with
-- follow-ups of its own or with the trigger, as the steps of a chain have (IS_PLAIN in the flags of its name: see
-- follow_ups.rs). Returns what parts/collect.lua does, and the `arguments` of add.lua for these; nil in any other case.
local IS_PLAIN = 4
local function collect_plain(numbers, names, results, added, salt)
  local byte, sub, pack, count, room = string.byte, string.sub, struct.pack, #numbers, MAX_REPLY
  if next(added) or read_settings().attached or count > MOST_NOTES then return nil end
  local kept, done = {}, { unpack(names, 1, count) }
  for i = 1, count do
    local flags, _, high, middle, low = byte(names[i] or '', 1, 5)
    if flags ~= IS_PLAIN and flags ~= IS_PLAIN + 1 then return nil end
    room = room - (high * 65536 + middle * 256 + low)
    local result = flags > IS_PLAIN and results[i]
    if result and #result <= MAX_COPIED_RESULT then
      kept[i], done[#done + 1], room = result, names[i] .. 'r', room - #result
    end
  end
  if room < 0 or redis.call('LLEN', DEFERRED) ~= count then return nil end
  local seen, arguments, followed = {}, { '', '', salt, text(count) }, {}
  local all = redis.call('HMGET', FOLLOW_UPS, unpack(names, 1, count))
  for i = 1, count do
    -- See parts/unpack_items.lua. What is damaged is left to that.
    local packed = all[i] or ''
    local high, low = byte(packed, 1, 2)
    local owner_end = 2 + (high or 0) * 256 + (low or 0)
    local from = owner_end + 5 + FIELDS_SIZE
    local id_high, id_low, _, _, trigger_high, trigger_low, one, two, three, four = byte(packed, from - 10, from - 1)
    if not four then return nil end
    local record = from + id_high * 256 + id_low
    local id, nested, trigger_at = sub(packed, from, record - 1), ((one * 256 + two) * 256 + three) * 256 + four,
      trigger_high * 256 + trigger_low
    if nested > 0 then
      local n, behind = #followed, record + NAME
      record = behind + nested
      followed[n + 1], followed[n + 2], followed[n + 3] = text(i), sub(packed, record - nested - NAME, behind - 1),
        sub(packed, behind, record - 1)
    end
    if record > #packed or record + trigger_at > #packed + 1 or seen[id] then return nil end
    seen[id], arguments[4 + i] = true, id
    if trigger_at > 0 then
      local result = kept[i]
      arguments[4 + count + i] = sub(packed, record, record + trigger_at - 1) .. pack('>I2', owner_end - 2)
        .. sub(packed, 3, owner_end) .. pack('>I4', result and #result + 1 or 0) .. (result or '')
        .. sub(packed, record + trigger_at)
    else
      arguments[4 + count + i] = sub(packed, record)
    end
  end
  -- What follows the records, as parts/add_arguments.lua writes it: none has options, some may have follow-ups.
  local at = 5 + 2 * count
  arguments[at] = '0'
  if #followed > 0 then
    arguments[at + 1], arguments[at + 2], arguments[at + 3], arguments[at + 4] = '0', '0', '0', '0'
    arguments[at + 5], at = text(#followed / 3), at + 5
    for n = 1, #followed do arguments[at + n] = followed[n] end
    at = at + #followed
    arguments[at + 1], arguments[at + 2], arguments[at + 3] = '0', '0', '0'
  end
  return { items = names, entries = {}, done = done, left = {}, count = count, arguments = arguments }
end
