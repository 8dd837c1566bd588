-- Pops ready numbers and leases those whose item exists; the others are tombstones. Groups in ARGV: how
-- many items, duration in ms.
-- The items that were taken, in order; `saved`: how the answer for a retry names them
local numbers, records, details, saved = {}, {}, {}, {}
local soonest -- the earliest deadline given
local group, left, deadline -- the index of the group in ARGV, and how many items it still wants

local function append(number, record, packed)
  local n = #numbers + 1
  numbers[n], records[n], details[n], saved[n] = number, record, packed or '', number
  -- The delivery is named if it is not the first.
  if packed then saved[n] = number .. ':' .. delivery_of(packed) end
end

-- Assigns the items that exist to the groups. Returns pairs of deadline and number, and how many there are.
local function deadlines_for(popped, found)
  local leases, n = {}, 0
  for i = 1, #popped do
    if found[i] then
      while left == 0 do
        group = group + 2
        left = tonumber(ARGV[group])
        local at = now + ARGV[group + 1]
        deadline = text(at)
        if left > 0 and (not soonest or at < soonest) then soonest = at end
      end
      left = left - 1
      leases[n + 1], leases[n + 2] = deadline, popped[i]
      n = n + 2
    end
  end
  return leases, n / 2
end

-- Handles damage: `doubled` of these numbers were leased already, because a list has them twice. No item may
-- be leased twice: the second one gets an empty record, and 0 as its number.
local double_count = 0
local function drop_doubles(popped, found, leases, doubled)
  local taken, named, n, dropped = {}, {}, 0, 0
  for _, number in ipairs(numbers) do taken[number] = true end
  for i = 2, #leases, 2 do named[#named + 1] = leases[i] end
  local scores = redis.call('ZMSCORE', LEASED, unpack(named))
  for i, number in ipairs(popped) do
    if found[i] then
      n = n + 1
      if taken[number] or scores[n] ~= leases[2 * n - 1] then
        found[i], dropped = '', dropped + 1
      end
      taken[number] = true
    end
  end
  -- The others were leased by another call until the same millisecond, and cannot be distinguished from
  -- those leased now: none of them is returned, all expire.
  for i = 1, #popped do
    if found[i] and dropped < doubled then found[i] = '' end
    if found[i] == '' then popped[i], double_count = '0', double_count + 1 end
  end
end

-- Leases those that are not leased already; returns how many. The server keeps a sorted set of up to 128
-- members as a list, and searches all of it for each member. A member that is too long for such a list turns
-- it into a skip list, which it stays until it is empty. For a few members the list is faster.
local LONG_MEMBER, MIN_FOR_SKIP_LIST = string.rep('0', 65), 32
local function add_leases(leases, count)
  if count == 0 then return 0 end
  if count < MIN_FOR_SKIP_LIST then return redis.call('ZADD', LEASED, 'NX', unpack(leases)) end
  redis.call('ZADD', LEASED, deadline, LONG_MEMBER)
  local added = redis.call('ZADD', LEASED, 'NX', unpack(leases))
  redis.call('ZREM', LEASED, LONG_MEMBER)
  return added
end
