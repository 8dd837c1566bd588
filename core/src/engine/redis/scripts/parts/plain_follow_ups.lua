-- The usual case: each of these completed items has one follow-up, for its own queue and without options (only this flag of its
-- name: see follow_ups.rs). Returns what parts/collect.lua does, and the `arguments` of add.lua for these; nil in any other case.
local IS_PLAIN = 4
local function collect_plain(numbers, names, added, salt)
  local byte, sub, count, room = string.byte, string.sub, #numbers, MAX_REPLY
  if next(added) or read_settings().attached or count > MOST_NOTES then return nil end
  for i = 1, count do
    local flags, _, high, middle, low = byte(names[i] or '', 1, 5)
    if flags ~= IS_PLAIN then return nil end
    room = room - (high * 65536 + middle * 256 + low)
  end
  if room < 0 or redis.call('LLEN', DEFERRED) ~= count then return nil end
  local seen, arguments = {}, { '', '', salt, text(count) }
  local all = redis.call('HMGET', FOLLOW_UPS, unpack(names, 1, count))
  for i = 1, count do
    -- See parts/unpack_items.lua. What is damaged is left to that.
    local packed = all[i] or ''
    local high, low = byte(packed, 1, 2)
    local at = 7 + (high or 0) * 256 + (low or 0)
    high, low = byte(packed, at + 25, at + 26)
    local from = at + FIELDS_SIZE
    local behind = from + (high or 0) * 256 + (low or 0)
    local id = sub(packed, from, behind - 1)
    if behind > #packed or seen[id] then return nil end
    seen[id], arguments[4 + i], arguments[4 + count + i] = true, id, sub(packed, behind)
  end
  arguments[5 + 2 * count] = '0'
  return { items = names, entries = {}, done = names, count = count, arguments = arguments }
end
