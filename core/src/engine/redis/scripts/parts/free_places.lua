-- Frees the places of items that were leased until now. `keys`: by index.
local function free_places(numbers, keys)
  local named, owners, free, others, their_keys = {}, {}, {}, {}, {}
  for i, number in ipairs(numbers) do
    if keys[i] then named[#named + 1], owners[#named + 1] = keys[i], number end
  end
  -- Usually it is the only place of its key, and nobody waits.
  for n, value in ipairs(redis.call('HMGET', PLACES, unpack(named))) do
    if value == ' ' .. owners[n] then
      free[#free + 1] = named[n]
    elseif value then
      others[#others + 1], their_keys[#others + 1] = owners[n], named[n]
    end
  end
  if #others > 0 then leave_places(find_places(others, their_keys), others) end
  if #free > 0 then redis.call('HDEL', PLACES, unpack(free)) end
end
