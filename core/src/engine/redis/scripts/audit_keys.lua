-- Checks a part of what is kept of keys (see parts/read_places.lua): their places, their lines or their limits. Deletes
-- entries of lines that no longer count, which is no damage.
-- KEYS  see parts/keys.lua
-- ARGV  as audit_index.lua; the name is places, lines or key_limits
-- Reply [1] next cursor and [2] how many entries to skip there, [3] the keys of what is wrong, [4] and [5] 0, [6] nothing
local name, mend = ARGV[1], ARGV[5] == '1'
local is_lines = name == 'lines'
local key = name == 'places' and PLACES or is_lines and LINES or KEY_LIMITS
local meta = redis.call('HMGET', META, 'format', 'waiting', 'raised')
local refused = mend and refusal(meta[1])
if refused then return refused end
local page = redis.call(is_lines and 'ZSCAN' or 'HSCAN', key, ARGV[2], 'COUNT', ARGV[4])
local from, to, cursor, skip = part_of(page, ARGV[3], ARGV[4], ARGV[2])
local entries, wrong, gone = {}, {}, 0
for i = from, to, 2 do entries[#entries + 1] = page[2][i] end

local function check_limits()
  for n, limit in ipairs(redis.call('HMGET', KEY_LIMITS, unpack(entries))) do
    if not limit_of(limit, nil) then wrong[#wrong + 1] = entries[n] end
  end
  if mend and #wrong > 0 then gone = redis.call('HDEL', KEY_LIMITS, unpack(wrong)) end
end

local function check_lines()
  local numbers, ranks, stale = {}, {}, {}
  for n, entry in ipairs(entries) do
    local rank, number = read_entry(entry, 1 + (string.byte(entry) or 0))
    numbers[n], ranks[n] = number, rank
  end
  for n, rank in ipairs(redis.call('ZMSCORE', HELD, unpack(numbers))) do
    if tonumber(rank or nil) ~= ranks[n] then stale[#stale + 1] = entries[n] end
  end
  if mend and #stale > 0 then gone = redis.call('ZREM', LINES, unpack(stale)) end
end

-- Whether an item waits in the line of a key, of the first 100 entries: those that no longer count are no damage.
local function has_line(one)
  local line, numbers, ranks = line_of(one), {}, {}
  for n, entry in ipairs(redis.call('ZRANGE', LINES, '[' .. line, '(' .. line .. ':', 'BYLEX', 'LIMIT', 0, 100)) do
    ranks[n], numbers[n] = read_entry(entry, #line)
  end
  for n, rank in ipairs(#numbers > 0 and redis.call('ZMSCORE', HELD, unpack(numbers)) or {}) do
    if tonumber(rank or nil) == ranks[n] then return true end
  end
  return #numbers == 100
end

-- A step looks at up to MAX_PLACES numbers, or one key.
local MAX_PLACES = 2000
local function check_places()
  local places, numbers, count = read_places(entries), {}, 0
  for n, one in ipairs(entries) do
    local place = places[one]
    if n > 1 and #numbers + place.count > MAX_PLACES then
      cursor, skip = ARGV[2], tonumber(ARGV[3]) + count
      for last = #entries, n, -1 do entries[last] = nil end
      break
    end
    count = n
    place.numbers = numbers_of(place, MAX_PLACES) -- far more than any limit
    for _, number in ipairs(place.numbers) do numbers[#numbers + 1] = number end
  end
  local leased, at, limits = #numbers > 0 and redis.call('ZMSCORE', LEASED, unpack(numbers)), 0, read_limits(entries)
  local open, opening = redis.call('ZMSCORE', OPEN, unpack(entries)), {}
  local rate = key_rate(read_settings())
  local latest = LATER + (rate and latest_opening(rate) + 60000 or -1)
  for n, one in ipairs(entries) do
    local place, kept, seen = places[one], {}, {}
    for _, number in ipairs(place.numbers) do
      at = at + 1
      if leased[at] and not seen[number] then kept[#kept + 1], seen[number] = number, true end
    end
    place.taken, place.count = ' ', 0
    for _, number in ipairs(kept) do take_place(place, number) end
    place.changed = value_of(place) ~= place.stored
    local opens_at = tonumber(open[n] or nil)
    local is_far = opens_at and opens_at > latest
    local stuck = place.flag and (is_far or place.count < limits[one] and not opens_at) and has_line(one)
    if stuck then opening[#opening + 1] = one end
    if place.changed or stuck and not meta[3] then wrong[#wrong + 1] = one end
    if place.changed and not place.flag and place.count == 0 then gone = gone + 1 end
  end
  if not mend then return end
  open_keys(opening, places)
  write_places(entries, places)
  if key_step.opened then notify_workers(meta[2], now) end
end

if #entries == 0 then return { cursor, skip, wrong, 0, 0, {} } end
if name == 'places' then check_places() elseif is_lines then check_lines() else check_limits() end
-- The same page has so many entries less the next time.
if mend and gone > 0 then skip = math.max(0, skip - gone) end
return { cursor, skip, wrong, 0, 0, {} }
