-- Decides which items of an add have others in their way, or each other. Nothing is written yet.
-- `known`: for each item the number that its id leads to, or false; set to '0' for items that are not added, and
-- to false for those that are, and to '1' for those that wait as successors. `key_of`: index of an item to its unique key, if
-- it has one. `replaces(i)`: '0', or '1' if the item replaces others, or '2' if it may also be the successor of a leased one.
-- Returns the items that make room, nil if there are none: numbers, ids, how many of
-- them are replaced, which ones (`there`, `their_ids`), and until when their unique keys are reserved,
-- by key. Also the items that have expired and lose their keys; and index to the leased item (`leased`, `leased_id`) of those
-- that wait, nil if there are none, with what is `over` and has their ids.
local function find_conflicts(known, count, key_of, replaces)
  local keys, owner_of = {}, {}
  for _, key in pairs(key_of) do
    if owner_of[key] == nil then keys[#keys + 1] = key end
    owner_of[key] = false
  end
  local items, numbers = {}, {}
  local function look_at(number, id)
    if not items[number] then
      items[number] = { number = number, id = id }
      numbers[#numbers + 1] = number
    end
  end
  -- An item whose successor waits also has the id and the unique key of that.
  local waited_for = { ids = {}, keys = {} }
  if redis.call('EXISTS', SUCCESSORS) == 1 then
    local fields, found = {}, {}
    for i = 1, count do fields[i] = '@' .. ARGV[4 + i] end
    for k, key in ipairs(keys) do fields[count + k] = '!' .. key end
    for n, number in ipairs(redis.call('HMGET', SUCCESSORS, unpack(fields))) do
      if number and n <= count then waited_for.ids[n] = number elseif number then waited_for.keys[keys[n - count]] = number end
      if number then found[#found + 1] = number end
    end
    for _, one in ipairs(find_successors(found) or {}) do look_at(one.leased, one.leased_id) end
  end
  for i = 1, count do
    if known[i] then look_at(known[i], ARGV[4 + i]) end
  end
  for k, owner in ipairs(#keys > 0 and find_owners(keys) or {}) do
    owner_of[keys[k]] = owner
    if owner then look_at(owner.number, owner.id) end
  end

  for from = 1, #numbers, 1000 do
    local to = math.min(#numbers, from + 999)
    for name, set in pairs({ leased = LEASED, completed = COMPLETED, cancelled = CANCELLED }) do
      for i, score in ipairs(redis.call('ZMSCORE', set, unpack(numbers, from, to))) do
        items[numbers[from + i - 1]][name] = tonumber(score)
      end
    end
  end
  -- The item, unless it has been retained for long enough, or makes room for another one of this call.
  local function there(number)
    local item = number and items[number]
    local kept_until = item and (item.completed or item.cancelled)
    return item and not item.makes_room and not (kept_until and kept_until <= now) and item
  end

  local old = { numbers = {}, ids = {}, known = {}, replaced = 0, there = {}, their_ids = {}, reserved_until = {} }
  local taken, expired, waits_for, has_successor = {}, {}, nil, {}
  local function make_room(item)
    if not item or item.makes_room then return end
    if there(item.number) then
      old.replaced = old.replaced + 1
      old.there[old.replaced], old.their_ids[old.replaced] = item.number, item.id
    end
    item.makes_room = true
    local n = #old.numbers + 1
    old.numbers[n], old.ids[n], old.known[n] = item.number, item.id, true
  end
  for i = 1, count do
    local key = key_of[i]
    local owner, same = key and owner_of[key], there(known[i]) or there(waited_for.ids[i])
    local with_key = owner and owner.alive and there(owner.number) or key and there(waited_for.keys[key])
    local reserved = owner and owner.until_time > now and not with_key and not (same and same.number == owner.number)
    local in_the_way = same or with_key
    local fits = not (key and taken[key]) and not reserved
    local waits = false
    if in_the_way then
      fits = fits and replaces(i) ~= '0' and not (same and with_key and same ~= with_key)
      waits = fits and in_the_way.leased and replaces(i) == '2' and not has_successor[in_the_way]
      fits = fits and not in_the_way.leased
    end
    if waits then
      waits_for, has_successor[in_the_way] = waits_for or {}, true
      -- One with its id whose time is over is in the way of no add, and is deleted like that of any other.
      waits_for[i] = { leased = in_the_way.number, leased_id = in_the_way.id, over = not there(known[i]) and known[i] }
    end
    if (fits or waits) and key then taken[key] = true end
    if (fits or waits) and owner and owner.expired then expired[#expired + 1] = owner.number end
    if fits then
      if in_the_way and owner then old.reserved_until[key] = owner.until_time end
      make_room(items[known[i]])
      make_room(same)
      make_room(with_key)
    end
    known[i] = waits and '1' or not fits and '0'
  end
  return old.numbers[1] and old, expired, waits_for
end
