-- Reads the items that a script may give new numbers, of those with these numbers (false: there is none): those that
-- are not leased, have not ended, and are not dead unless `dead_too`. Returns them by number. Of each: number, record,
-- x (its details), priority, delayed and dead (its score, or false), and expires (nil if it does not). Only `left`, if its
-- record does not fit into `room` bytes: the script leaves the item to another one, and answers `-`. The first item is
-- never left.
local function read_unleased(numbers, dead_too, room)
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
    local dead = scores[3][i]
    local has_ended = scores[4][i] or scores[5][i]
    if not scores[1][i] and not has_ended and (dead_too or not dead) then
      local n = #items + 1
      items[n] = { number = number, delayed = scores[2][i], dead = dead, expires = tonumber(expiries[i]) }
      wanted[n], their_details[n] = number, details[i]
    end
  end
  if #items == 0 then return {} end

  local found, fits = {}, fitting(their_details, room, 1)
  for n = fits + 1, #items do found[wanted[n]] = { left = true } end
  for n, record in ipairs(redis.call('HMGET', ITEMS, unpack(wanted, 1, fits))) do
    local item = items[n]
    -- An id may lead to no item, because a script died half-way.
    if record then
      item.record, item.x = record, unpack_details(their_details[n])
      item.priority = item.x.priority
      found[item.number] = item
    end
  end
  return found
end
