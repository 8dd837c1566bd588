-- Decides which items of an add have others in their way, or each other. Nothing is written yet.
-- `known`: for each item the number that its id leads to, or false; set to '0' for items that are not added, and
-- to false for those that are. `key_of`: index of an item to its unique key, if it has one. `replaces(i)`: whether
-- the item replaces others. Returns the items that make room, nil if there are none: numbers, ids, how many of
-- them are replaced, which ones (`there`, `their_ids`), and until when their unique keys are reserved,
-- by key. Also the items that have expired and lose their keys.
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
  local taken, expired = {}, {}
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
    local owner, same = key and owner_of[key], there(known[i])
    local with_key = owner and owner.alive and there(owner.number)
    local reserved = owner and owner.until_time > now and not with_key and not (same and same.number == owner.number)
    local in_the_way = same or with_key
    local fits = not (key and taken[key]) and not reserved
    if in_the_way then
      fits = fits and replaces(i) and not in_the_way.leased and not (same and with_key and same ~= with_key)
    end
    if fits then
      if in_the_way and owner then old.reserved_until[key] = owner.until_time end
      make_room(items[known[i]])
      make_room(with_key)
      if key then taken[key] = true end
      if owner and owner.expired then expired[#expired + 1] = owner.number end
    end
    known[i] = not fits and '0'
  end
  return old.numbers[1] and old, expired
end
