-- As parts/add_plain.lua, for extended queues: items may be retained, have unique keys, and replace others.
local options, at = {}, 5 + 2 * count
local options_end = at + 4 * tonumber(ARGV[at])
for i = at + 1, options_end, 4 do options[tonumber(ARGV[i])] = i + 1 end

-- The options that only extended queues know.
local extended, usual, differing, keys = options_end < #ARGV, options_end + 1, {}, {}
if extended then
  local place = usual + 4
  local differing_end = place + 5 * tonumber(ARGV[place])
  for i = place + 1, differing_end, 5 do differing[tonumber(ARGV[i])] = i + 1 end
  place = differing_end + 1
  if tonumber(ARGV[place]) == count then
    keys = { unpack(ARGV, place + 1, place + count) }
  else
    for i = place + 1, #ARGV, 2 do keys[tonumber(ARGV[i])] = ARGV[i + 1] end
  end
end
local function retain_of(i) return ARGV[differing[i] or usual] end
local function reserved_for(i) return ARGV[(differing[i] or usual) + 1] end
local function expires_in(i) return ARGV[(differing[i] or usual) + 3] end
local function replaces(i) return extended and ARGV[(differing[i] or usual) + 2] == '1' end

local old, expired = find_conflicts(known, count, keys, replaces)

-- An item that is replaced by one with another id is gone. One with the same id takes its place.
local function report_replaced(number_of)
  if not is_awaited() then return end
  local added, ids = {}, {}
  for i in pairs(number_of) do added[ARGV[4 + i]] = true end
  for n, id in ipairs(old.ids) do ids[n] = not added[id] and id end
  report_endings('r', ids)
end

-- Writes what extended queues keep for the new items, and deletes those that make room for them. Then their ids
-- are written. `number_of`: index of an item that is added to its number.
local before_ids = (old or extended) and function(number_of)
  make_extended(meta[4])
  expire_for_good(expired)
  local retains, owned, owners, timers, expiries = {}, {}, {}, {}, {}
  local retained, owning = 0, 0
  for i = 1, extended and count or 0 do
    local number, key = number_of[i], keys[i]
    local retain = number and retain_of(i)
    if retain and retain ~= '0' then
      retains[retained + 1], retains[retained + 2] = number, retain
      retained = retained + 2
    end
    if number and expires_in(i) ~= '0' then
      expiries[#expiries + 1] = text(now + expires_in(i))
      expiries[#expiries + 1] = number
    end
    if number and key then
      owned[owning + 1], owned[owning + 2] = number, key
      owners[owning + 1], owners[owning + 2] = key, number .. ':' .. ARGV[4 + i]
      owning = owning + 2
      local reserved_until = old and old.reserved_until[key] or 0
      local reserved = reserved_for(i)
      if reserved ~= '0' then reserved_until = math.max(reserved_until, now + reserved) end
      if reserved_until > now then
        timers[#timers + 1] = text(reserved_until)
        timers[#timers + 1] = key
      end
    end
  end
  if retained > 0 then redis.call('HSET', RETAINS, unpack(retains)) end
  if owning > 0 then redis.call('HSET', OWNED, unpack(owned)) end
  if #expiries > 0 then redis.call('ZADD', EXPIRIES, unpack(expiries)) end
  if old then
    delete_all_of(old.numbers, old.ids, old.known, redis.call('HMGET', DETAILS, unpack(old.numbers)))
    if old.replaced > 0 then redis.call('HINCRBY', META, 'replaced', old.replaced) end
    report_replaced(number_of)
  end
  if owning > 0 then redis.call('HSET', UNIQUES, unpack(owners)) end
  if #timers > 0 then redis.call('ZADD', TIMERS, unpack(timers)) end
end

