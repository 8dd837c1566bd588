-- Reads a part of the items of one state: ready ones in the order of leasing, others by time (held ones by their
-- ranks), or in the opposite order. In a place of the listing, after an entry:
--   others  `score:number` of that entry
--   ready   `priority:anchor:index:distance:delivery`. The anchor is an entry of the ready list of this priority,
--           and `index` its place from the left when it was last seen. The entry is `distance` places to the right
--           of it. Pushing moves all entries away from the left end and popping moves none, so the anchor is at
--           `index` or behind it, or it was popped, and with it all that were to the right of it. If it has come
--           back since, it has another delivery. To the front, the anchor is the last entry of the list when the
--           listing came to it; to the back, the entry itself.
-- KEYS  see parts/keys.lua
-- ARGV  [1] state, [2] 1 for the opposite order, [3] at most how many entries (1,000), [4] 1 with data, 0 without,
--       [5] a score `(S`: from S on, [6] a score `(S` or `+inf`: before S (both not for ready and held ones),
--       [7] the place to go on after; '' to begin
-- Reply server time, the place to go on after ('' at the end), then per entry: its place, number, record ('' if
--       there is no item; without data only its head), details ('' if none), score ('' if ready or held), and the last five
--       of get.lua
local reverse, limit, with_data = ARGV[2] == '1', tonumber(ARGV[3]), ARGV[4] == '1'
local retained = ARGV[1] == 'completed' or ARGV[1] == 'cancelled'
local numbers, places, scores = {}, {}, {}
local rest = '' -- the place to go on after all entries

local function add(place, number, score)
  local n = #numbers + 1
  places[n], numbers[n], scores[n] = place, number, score or ''
end

-- Compares two members of a sorted set as the server orders them: `<` would depend on its locale.
local function is_less(one, other)
  for i = 1, math.min(#one, #other) do
    local a, b = string.byte(one, i), string.byte(other, i)
    if a ~= b then return a < b end
  end
  return #one < #other
end

-- How many entries stand before the one with this score and number, and it too unless `reverse`, whether or not
-- it is still there.
local function rank_of(key, score, number)
  local low, high = redis.call('ZCOUNT', key, '-inf', '(' .. score), redis.call('ZCOUNT', key, '-inf', score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local member = redis.call('ZRANGE', key, middle, middle)[1]
    if is_less(member, number) or (not reverse and member == number) then low = middle + 1 else high = middle end
  end
  return low
end

-- An entry in a place. Only damage has made entries that are no numbers. Of long ones the beginning has to do: a
-- listing by time goes on after all entries that begin so.
local LONGEST_PLACE = 100
local function name_of(entry)
  if #entry <= 32 and string.find(entry, '^[%w_-]+$') then return entry end
  if #entry > LONGEST_PLACE then entry = string.sub(entry, 1, LONGEST_PLACE) .. (reverse and '' or string.rep('\255', 8)) end
  local hex = string.gsub(entry, '.', function(c) return string.format('%02x', string.byte(c)) end)
  return '.' .. hex
end

local function entry_of(name)
  if string.sub(name, 1, 1) ~= '.' then return name end
  return (string.gsub(string.sub(name, 2), '%x%x', function(hex) return string.char(tonumber(hex, 16)) end))
end

local function list_by_time(key)
  local first = redis.call('ZCOUNT', key, '-inf', ARGV[5])
  -- Items whose time is over are not there.
  if retained then first = math.max(first, redis.call('ZCOUNT', key, '-inf', now)) end
  local last = redis.call('ZCOUNT', key, '-inf', ARGV[6]) -- the rank after the last one
  if ARGV[7] ~= '' then
    local score, number = string.match(ARGV[7], '^([^:]*):(.*)$')
    local rank = rank_of(key, score, entry_of(number))
    if reverse then last = math.min(last, rank) else first = math.max(first, rank) end
  end
  if first >= last then return end
  local from, to = first, math.min(last, first + limit) - 1
  if reverse then from, to = math.max(first, last - limit), last - 1 end
  local found = redis.call('ZRANGE', key, from, to, 'WITHSCORES')
  for i = 1, #found, 2 do
    local at = reverse and #found - i or i
    add(found[at + 1] .. ':' .. name_of(found[at]), found[at], found[at + 1])
  end
  if to - from < last - first - 1 then rest = places[#places] end
end

-- Finds an anchor at this index or behind it. Returns its index, or else nil and how far it has searched.
local MAX_SEARCH, PART = 10000, 1000
local function find(key, anchor, index)
  if redis.call('LINDEX', key, index) == anchor then return index end
  for from = index, index + MAX_SEARCH - PART, PART do
    local part = redis.call('LRANGE', key, from, from + PART - 1)
    for i, number in ipairs(part) do
      if number == anchor or (#number > LONGEST_PLACE and name_of(number) == name_of(anchor)) then return from + i - 1 end
    end
    if #part < PART then return nil, math.huge end
  end
  return nil, index + MAX_SEARCH
end

local function place_of(priority, anchor, index, distance, delivery)
  return string.format('%d:%s:%d:%d:%s', priority, name_of(anchor), index, distance, delivery)
end

-- Adds entries of one ready list. Returns false if there is more, or more to search.
local function list_ready(priority, anchor, index, distance, delivery)
  local key = KEYS[READY + priority]
  local next_index -- from the left
  if anchor then
    local packed = redis.call('HGET', DETAILS, anchor)
    if packed and delivery_of(packed) ~= delivery then return true end
    local found, searched = find(key, anchor, index)
    if not found then
      if searched == math.huge then return true end
      rest = place_of(priority, anchor, searched, distance, delivery)
      return false
    end
    index, next_index = found, reverse and found + 1 or found + distance - 1
  else
    anchor, index, next_index = redis.call('LINDEX', key, 0), 0, reverse and 0 or math.huge
    if not anchor then return true end
    delivery = delivery_of(redis.call('HGET', DETAILS, anchor))
  end
  local length, room = redis.call('LLEN', key), limit - #numbers
  next_index = math.min(next_index, length - (reverse and 0 or 1))
  local left = reverse and length - next_index or next_index - index + 1
  local count = math.min(left, room)
  if count > 0 then
    local from = reverse and next_index or next_index - count + 1
    local part = redis.call('LRANGE', key, from, from + count - 1)
    local packed = reverse and redis.call('HMGET', DETAILS, unpack(part)) or {}
    for i = 1, #part do
      local number = part[reverse and i or #part - i + 1]
      if reverse then
        add(place_of(priority, number, next_index + i - 1, 0, delivery_of(packed[i])), number)
      else
        add(place_of(priority, anchor, index, next_index - i + 1 - index, delivery), number)
      end
    end
  end
  if left > count then
    rest = places[#places]
    return false
  end
  return true
end

if ARGV[1] == 'ready' then
  local priority, anchor, index, distance, delivery = string.match(ARGV[7], '^(%d):(.*):(%d+):(%d+):(.*)$')
  priority, index, distance = tonumber(priority), tonumber(index), tonumber(distance)
  anchor = anchor and entry_of(anchor)
  for at = priority or (reverse and 0 or 9), reverse and 9 or 0, reverse and 1 or -1 do
    if not list_ready(at, at == priority and anchor, index, distance, delivery) then break end
  end
else
  local sets = { delayed = DELAYED, leased = LEASED, dead = DEAD, completed = COMPLETED, cancelled = CANCELLED, held = HELD }
  list_by_time(sets[ARGV[1]])
end

local reply = { text(now), rest }
if #numbers == 0 then return reply end
local details = redis.call('HMGET', DETAILS, unpack(numbers))
-- Retained items may have results, whose sizes are asked for too.
local records, fits = read_records(numbers, details, retained and MAX_SINGLE or 900)
local ended, results, expiries, marks, follow_ups
ended, results, expiries, marks, follow_ups, fits = read_extras(numbers, records, fits, with_data)
if fits < #numbers then reply[2] = places[fits] end
for i = 1, fits do
  local record = records[i] or ''
  if not with_data then record = head_of(record) end
  for _, value in ipairs({ places[i], numbers[i], record, details[i] or '', ARGV[1] == 'held' and '' or scores[i], ended[i] or '',
    results[i] and ':' .. results[i] or '', expiries[i] or '', marks[i] and '1' or '', follow_ups[i] or '' }) do
    reply[#reply + 1] = value
  end
end
return reply
