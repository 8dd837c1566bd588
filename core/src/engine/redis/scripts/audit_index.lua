-- Checks some entries of one index; deletes those without an item, and lanes that stay idle.
-- KEYS  see parts/keys.lua
-- ARGV  [1] the name of the index, [2] cursor, [3] how many entries to skip
--       there, [4] at most how many to check, [5] 1 to mend, 0 to check
-- Reply [1] next cursor and [2] how many entries to skip there, [3] the entries without an item (for lanes:
--       those that are idle), for details [4] the sum of the sizes of large records and [5] the largest, for follow-ups [6] the
--       names that MEMBERS has lacked
local sets = { leased = LEASED, delayed = DELAYED, dead = DEAD, completed = COMPLETED, cancelled = CANCELLED,
  held = HELD, timers = TIMERS, expiries = EXPIRIES, awaited = AWAITED, outbox = OUTBOX, meters = METERS,
  members = MEMBERS }
local hashes = { ids = IDS, details = DETAILS, lanes = LANES, ended = ENDED, uniques = UNIQUES, marks = MARKS,
  follow_ups = FOLLOW_UPS, outgoing = OUTGOING, groups = GROUPS, successors = SUCCESSORS }
local name, mend = ARGV[1], ARGV[5] == '1'
local hash, key = hashes[name] ~= nil, hashes[name] or sets[name]
local refused = mend and refusal(redis.call('HGET', META, 'format'))
if refused then return refused end
local LONGEST_RESERVATION, LONGEST_WAIT, LONGEST_REFILL = 31622400000, 120000, 31622400000
local most = name == 'follow_ups' and math.min(50, ARGV[4]) or ARGV[4] -- they are large
if name == 'outgoing' then
  -- They may be so large that they are only scanned if there are too many.
  if redis.call('HLEN', OUTGOING) == redis.call('ZCARD', OUTBOX) then return { '0', 0, {}, 0, 0, {} } end
  most = 1
end
local page = redis.call(hash and 'HSCAN' or 'ZSCAN', key, ARGV[2], 'COUNT', most)
local from, to, cursor, skip = part_of(page, ARGV[3], most, ARGV[2])

local owner_of = {}
if name == 'uniques' and from <= to then
  local keys = {}
  for i = from, to, 2 do keys[#keys + 1] = page[2][i] end
  for i, owner in ipairs(find_owners(keys)) do owner_of[keys[i]] = owner end
end
-- Follow-ups belong to the item or group that they name, or to a note about it. Names of attached ones stand at a
-- number and `+`.
local followed = {}
if name == 'follow_ups' and from <= to and redis.call('EXISTS', DEFERRED) == 0 then
  local ids, numbers = {}, {}
  for i = from, to, 2 do
    local fine, id = pcall(owner_of_packed, page[2][i + 1])
    ids[#ids + 1] = fine and id or ''
    local group = read_group('', redis.call('HGET', GROUPS, 'G' .. ids[#ids]))
    if group then followed[group.name] = true end
  end
  for i, number in ipairs(redis.call('HMGET', IDS, unpack(ids))) do numbers[i] = number or '' end
  -- They may also be those of a successor.
  local fields, leased = {}, { unpack(numbers) }
  for i, id in ipairs(ids) do fields[i] = '@' .. id end
  for _, number in ipairs(redis.call('HMGET', SUCCESSORS, unpack(fields))) do leased[#leased + 1] = number or nil end
  for _, one in ipairs(find_successors(leased) or {}) do numbers[#numbers + 1] = one.number end
  for _, found in pairs(find_names(numbers) or {}) do followed[found] = true end
elseif name == 'follow_ups' then
  for i = from, to, 2 do followed[page[2][i]] = true end
end
-- Entries of members.
local entries, unlisted = {}, {}
for i = from, name == 'follow_ups' and to or 0, 2 do
  local group = followed[page[2][i]] and group_named(page[2][i], page[2][i + 1])
  if group then entries[#entries + 1] = group .. ' ' .. page[2][i] end
end
for n, score in ipairs(#entries > 0 and redis.call('ZMSCORE', MEMBERS, unpack(entries)) or {}) do
  if not score then unlisted[#unlisted + 1] = entries[n] end
end
local dangling, lapsed, sizes, largest, expired = {}, {}, 0, 0, {}
for i = from, to, 2 do
  local entry, value = page[2][i], page[2][i + 1]
  local fine
  if name == 'ids' then
    fine = id_matches(entry, value, LARGE_RECORD)
  elseif name == 'follow_ups' then
    local number = string.match(entry, '^(%w.+)%+$')
    fine = number and redis.call('HEXISTS', ITEMS, number) == 1 or followed[entry]
  elseif name == 'groups' then
    -- Those whose time is over are deleted; that is no damage.
    local letter, id = string.sub(entry, 1, 1), group_of_field(entry) or string.sub(entry, 2)
    local group, gone = read_group(id, redis.call('HGET', GROUPS, 'G' .. id))
    group = group or gone
    local number = string.match(entry, '^P%d+ (%S+) ') or string.match(entry, '^Q(%S+) ')
    local since = letter == 'J' and tonumber(string.match(value, '^[jx] (%d+)$'))
    fine = letter == 'L' or since or group and (letter == 'G' or number == group.number)
    if mend and gone and letter == 'G' then expired[#expired + 1] = gone end
    -- Without it, the next member joins again.
    if mend and since and since + DAY <= now then lapsed[#lapsed + 1] = entry end
  elseif name == 'members' then
    fine = redis.call('HEXISTS', FOLLOW_UPS, string.sub(entry, -NAME)) == 1
  elseif name == 'outbox' then
    fine = redis.call('HEXISTS', OUTGOING, entry) == 1
  elseif name == 'outgoing' then
    fine = redis.call('ZSCORE', OUTBOX, (string.gsub(entry, '^>', '')))
  elseif name == 'lanes' then
    fine = not is_idle(entry, value, mend)
  elseif name == 'ended' then
    fine = redis.call('ZSCORE', COMPLETED, entry) or redis.call('ZSCORE', CANCELLED, entry)
  elseif name == 'uniques' then
    -- What those have left that were deleted while their keys were not known; that is no damage. A reservation that is
    -- over is ended by the next sweep.
    local owner = owner_of[entry]
    fine = true
    if mend and not (owner.known or owner.until_time > 0) then lapsed[#lapsed + 1] = entry end
  elseif name == 'marks' then
    local has_ended = redis.call('ZSCORE', DEAD, entry) or redis.call('ZSCORE', COMPLETED, entry)
      or redis.call('ZSCORE', CANCELLED, entry)
    fine = not has_ended and redis.call('HEXISTS', ITEMS, entry) == 1
  elseif name == 'successors' then
    fine = is_successor_entry(entry, value)
  elseif name == 'timers' then
    fine = tonumber(value) <= now + LONGEST_RESERVATION + 60000
  elseif name == 'awaited' then
    -- Those that have lapsed are deleted; that is no damage.
    fine = tonumber(value) <= now + LONGEST_WAIT
    if mend and fine and tonumber(value) <= now then lapsed[#lapsed + 1] = entry end
  elseif name == 'meters' then
    -- Those that have refilled are dropped; that is no damage.
    fine = tonumber(value) <= (now + LONGEST_REFILL + 60000) * 1000
    if mend and fine and tonumber(value) <= now * 1000 then lapsed[#lapsed + 1] = entry end
  else
    fine = redis.call('HEXISTS', ITEMS, entry) == 1
  end
  if not fine then dangling[#dangling + 1] = entry end
  local size = name == 'details' and tonumber(string.match(value, '^%d:(%d+):')) or 0
  sizes, largest = sizes + size, math.max(largest, size)
end
if #lapsed > 0 then
  redis.call(hash and 'HDEL' or 'ZREM', key, unpack(lapsed))
  -- The same page has so many entries less the next time.
  skip = math.max(0, skip - #lapsed)
end
for _, group in ipairs(expired) do delete_group(group) end
for _, entry in ipairs(mend and unlisted or {}) do redis.call('ZADD', MEMBERS, '0', entry) end
-- mend_successors.lua mends these.
if mend and #dangling > 0 and name ~= 'lanes' and name ~= 'successors' then
  -- Each item with a result has an end. Results may be too large to be scanned.
  if name == 'ended' then redis.call('HDEL', RESULTS, unpack(dangling)) end
  redis.call(hash and 'HDEL' or 'ZREM', key, unpack(dangling))
  skip = math.max(0, skip - #dangling)
end
-- All that was looked at of the first page is deleted, and the rest of it is to be read: that is no end.
if to < #page[2] and skip == 0 and cursor == '0' then cursor = '00' end
return { cursor, skip, dangling, sizes, largest, unlisted }
