-- Reads items that a script may give new numbers, of those with these numbers (false: there is none): those that have
-- not ended, and are not leased or dead unless `also` has that state. Returns them by number. Of each: number, record,
-- what read_head returns (stored_id, retain, key, data_at, limit_key, follow_ups), packed and x (its details), priority, leased,
-- delayed, dead and held (its score, or false), and expires (nil if it does not). Only `left`, if its record does not fit
-- into `room` bytes: the script leaves the item to another one, and answers `-`. The first item is never left.
local function read_items(numbers, also, room)
  local named, seen = {}, {}
  for _, number in ipairs(numbers) do
    if number and not seen[number] then
      seen[number] = true
      named[#named + 1] = number
    end
  end
  if #named == 0 then return {} end

  local details, scores = redis.call('HMGET', DETAILS, unpack(named)), {}
  local expiries = redis.call('ZMSCORE', EXPIRIES, unpack(named))
  for i, key in ipairs(SETS) do scores[i] = redis.call('ZMSCORE', key, unpack(named)) end
  local items, wanted, their_details = {}, {}, {}
  for i, number in ipairs(named) do
    local leased, dead = scores[1][i], scores[3][i]
    local has_ended = scores[4][i] or scores[5][i]
    if not has_ended and (also.leased or not leased) and (also.dead or not dead) then
      local n = #items + 1
      items[n] = { number = number, leased = leased, delayed = scores[2][i], dead = dead,
        held = scores[6][i], expires = tonumber(expiries[i] or nil) }
      wanted[n], their_details[n] = number, details[i]
    end
  end
  if #items == 0 then return {} end

  local found, fits = {}, fitting(their_details, room, 1)
  for n = fits + 1, #items do found[wanted[n]] = { left = true } end
  for n, record in ipairs(redis.call('HMGET', ITEMS, unpack(wanted, 1, fits))) do
    local item = items[n]
    item.stored_id, item.retain, item.key, item.data_at, item.limit_key, item.follow_ups =
      read_head(record)
    -- An id may lead to no item, because a script died half-way.
    if item.stored_id then
      item.record, item.packed, item.x = record, their_details[n], unpack_details(their_details[n])
      item.priority = item.x.priority
      found[item.number] = item
    end
  end
  for n, name in pairs(attached_names({ unpack(wanted, 1, fits) }, {})) do items[n].follow_ups = name end
  return found
end
