-- Reads events in order.
-- KEYS  see parts/keys.lua
-- ARGV  [1] number and [2] server time of the event behind which to begin ('': the oldest one; `now`: behind the last one),
--       [3] how many events are wanted
-- Reply [1] 1 if there were others behind it that are not kept any more, else 0, [2] and [3] number and server time behind
--       which the next call begins if the entries are none, then entries: id and fields. They may have events that come
--       before the wanted ones, and more than are wanted. Empty if the queue keeps no events
local MAX_ENTRIES, MAX_BYTES = 100, 1000000
local meta = redis.call('HMGET', META, 'settings', 'event', 'event_by', 'event_torn')
local most, last = unpack_settings(meta[1]).events, tonumber(meta[2])
if not most or not last then return {} end

-- What a script has written that has stopped half-way is shown later: its retry may replace it.
local visible = last
for _, mark in ipairs(read_marks((meta[4] or '') .. ',' .. (meta[3] or ''))) do visible = math.min(visible, mark.first - 1) end

local function parse_id(id)
  local number, at = string.match(id, '^(%d+)%-(%d+)$')
  return tonumber(number), tonumber(at)
end
-- The number before the first event of an entry.
local function before_entry(entry)
  local number, named = parse_id(entry[1]), entry[2][2] or ''
  local _, spaces = string.gsub(named, ' ', '')
  return number - spaces - 1
end

-- When the event with this number was written, if it is kept.
local function time_of(number)
  local entry = redis.call('XRANGE', EVENTS, text(number), '+', 'COUNT', 1)[1]
  if not entry or before_entry(entry) >= number then return nil end
  local _, at = parse_id(entry[1])
  return at
end

local first = redis.call('XRANGE', EVENTS, '-', '+', 'COUNT', 1)[1]
local horizon = math.max(last - most, first and before_entry(first) or last)
if ARGV[1] == 'now' then
  local place = math.max(visible, 0)
  return { 0, text(place), text(time_of(place) or now) }
end
local after, after_at, missed = tonumber(ARGV[1]), tonumber(ARGV[2]), 0
local from = after or horizon
if after then
  -- Another event has the number if a server has lost data.
  local seen_at = after >= horizon and time_of(after)
  if after < horizon or after > last or (seen_at and seen_at ~= after_at) then missed, from = 1, horizon end
end

local reply, left, bytes = { missed, text(from), text(missed == 0 and after_at or now) }, tonumber(ARGV[3]), 0
local start = from + 1
while left > 0 and bytes < MAX_BYTES do
  local entries = redis.call('XRANGE', EVENTS, text(start), '+', 'COUNT', math.min(left, MAX_ENTRIES))
  for _, entry in ipairs(entries) do
    local number = parse_id(entry[1])
    if number > visible or left <= 0 or bytes >= MAX_BYTES then return reply end
    left = left - (number - math.max(before_entry(entry), from))
    for _, field in ipairs(entry[2]) do bytes = bytes + #field end
    reply[#reply + 1], reply[#reply + 2], start = entry[1], entry[2], number + 1
  end
  if #entries == 0 then break end
end
return reply
