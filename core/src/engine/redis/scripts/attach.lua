-- Attaches follow-ups to items that have not ended. Of an item that is stored and has ended as its follow-up requires, that
-- is added: by distribute.lua, as what a call adds that ends an item.
-- KEYS  see parts/keys.lua
-- ARGV  [1] lane, [2] number, from [3] what parts/named.lua reads, then for each one packed follow-up, behind its name, as
--       parts/fire.lua reads what calls add
-- Reply a string: for each 1 (it has this follow-up, or that is added), 0 (there is none, or it has ended otherwise) or f (it
--       has as many follow-ups as it may), perhaps followed by what parts/end_step.lua has
local MOST, MOST_BYTES = 16, 65536
local done = load_reply()
if done then return done end
local format = redis.call('HGET', META, 'format')
local refused = refusal(format)
if refused then return refused end

local numbers, last = read_named(3)
local all, items = {}, {} -- the items that are there: their numbers, and what is known of them, by number
for _, number in ipairs(numbers) do
  -- An id may lead to no item, because a script died half-way.
  if number and not items[number] and redis.call('HEXISTS', ITEMS, number) == 1 then
    all[#all + 1], items[number] = number, { count = 0 }
  end
end
local sets = { leased = LEASED, dead = DEAD, completed = COMPLETED, cancelled = CANCELLED, expires = EXPIRIES }
for state, set in pairs(#all > 0 and sets or {}) do
  for n, score in ipairs(redis.call('ZMSCORE', set, unpack(all))) do items[all[n]][state] = score end
end

-- What has fired; 0: nothing, so the item lives; nil: it is not there any more.
local function fired(item)
  local kept_until = item.completed or item.cancelled
  if kept_until and tonumber(kept_until) <= now then return nil end
  if kept_until then return ENDS + (item.completed and COMPLETES or 0) end
  if item.dead or not item.leased and has_passed(item.expires) then return DIES + ENDS end
  return 0
end

-- What tells packed follow-ups of an item apart, of the one that begins there: its kind, its id and its queue. And where the
-- next one begins.
local function read_follow_up(packed, at)
  local length, on, _, _, _, queue, _, _, _, _, id, unique, _, nested = struct.unpack('>I4' .. string.sub(FIELDS, 2), packed, at)
  local from = at + 4 + FIELDS_SIZE
  local name = from + id + unique + (nested > 0 and NAME + nested or 0)
  return on, string.sub(packed, from, from + id - 1), string.sub(packed, name, name + queue - 1), at + 4 + length
end

-- Whether these have one that can fire with this one, and has its id and queue: then it is that. Also how many there are.
local function find_same(packed, on, id, queue)
  local _, at = owner_of_packed(packed)
  local place, is_place = struct.unpack('>I4B', packed .. '\0\0\0\0\1', at)
  if is_place == 0 then at = at + 4 + place end -- see parts/reports.lua
  local found, count = false, 0
  while at <= #packed do
    local other, other_id, other_queue, behind = read_follow_up(packed, at)
    found = found or other_id == id and other_queue == queue and (other == on or other + on > COMPLETES + DIES)
    at, count = behind, count + 1
  end
  return found, count
end

local names = find_names(all) or {}
local with_names, places = {}, {}
for n, number in pairs(names) do
  with_names[#with_names + 1], places[#places + 1] = number, items[all[n]]
end
for n, packed in ipairs(#with_names > 0 and redis.call('HMGET', FOLLOW_UPS, unpack(with_names)) or {}) do
  places[n].name, places[n].packed = with_names[n], packed or nil
end

-- Adds one to the follow-ups of an item. False: it has no room.
local function attach(item, value)
  local name, packed = string.sub(value, 1, NAME), string.sub(value, NAME + 1)
  local _, from = owner_of_packed(packed)
  if not item.packed then
    item.new, item.packed = name, packed
    return true
  end
  local on, id, queue = read_follow_up(packed, from)
  local fine, found, count = pcall(find_same, item.packed, on, id, queue)
  if not fine then return false end -- damage
  if found then return true end
  local both = item.packed .. string.sub(packed, from)
  if count >= MOST or #both > MOST_BYTES then return false end
  -- Another name, as a note about an earlier run may be waiting that has the old one.
  local old, wants_result = string.byte(item.new or item.name), string.byte(name) % 2
  item.new = string.char(old % 4 + wants_result * (1 - old % 2)) .. struct.pack('>I4', #both) .. string.sub(name, 6)
  item.packed = both
  return true
end

local answers, late = {}, {}
for i, number in ipairs(numbers) do
  local item, value = number and items[number], ARGV[last + i]
  local has_fired = item and fired(item)
  answers[i] = '0'
  if has_fired == 0 then
    answers[i] = attach(item, value) and '1' or 'f'
  elseif has_fired then
    local _, from = owner_of_packed(string.sub(value, NAME + 1))
    local on = string.byte(value, NAME + from + 4)
    if math.floor(has_fired / on) % 2 == 1 then
      answers[i] = '1'
      late[#late + 1] = { number = number, value = value, kinds = has_fired }
    end
  end
end

local fields, old, old_numbers, joining, left = {}, {}, {}, {}, {}
for _, number in ipairs(all) do
  local item = items[number]
  if item.new then
    for _, field in ipairs({ item.new, item.packed, number .. '+', item.new }) do fields[#fields + 1] = field end
    joining[#joining + 1], joining[#joining + 2] = item.new, item.packed
    local group = item.name and group_named(item.name, item.packed)
    if group then left[#left + 1] = group .. ' ' .. item.name end
    if item.name then old[#old + 1], old_numbers[#old + 1] = item.name, number end
  end
end
if #fields > 0 or #late > 0 then make_extended(format) end
if #fields > 0 then
  redis.call('HSET', META, 'attached', 1)
  -- A sweep that goes on could miss the new names; it has a note.
  join_groups(joining, redis.call('EXISTS', DEFERRED) == 1)
  redis.call('HSET', FOLLOW_UPS, unpack(fields))
  -- A note that waits may name them. Then another one, which fires nothing, deletes them behind it.
  if #old > 0 and redis.call('EXISTS', DEFERRED) == 0 then
    redis.call('HDEL', FOLLOW_UPS, unpack(old))
    if #left > 0 then redis.call('ZREM', MEMBERS, unpack(left)) end
  elseif #old > 0 then
    fire(old_numbers, old, 0, 'a')
  end
end
for _, one in ipairs(late) do
  local name = string.sub(one.value, 1, NAME)
  local wants = string.byte(name) % 2 == 1 and redis.call('HSTRLEN', RESULTS, one.number) <= MAX_COPIED_RESULT
  local result = wants and redis.call('HGET', RESULTS, one.number) or nil
  redis.call('HSET', FOLLOW_UPS, name, string.sub(one.value, NAME + 1))
  fire({ one.number }, { name }, one.kinds, 'a', { result })
end
local answer = table.concat(answers) .. end_step.deferred
save_reply(answer)
return answer
