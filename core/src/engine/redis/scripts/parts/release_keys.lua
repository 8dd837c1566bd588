-- Whether an entry of UNIQUES is of the item with this number.
local function is_owner(number, entry)
  return entry and string.sub(entry, 1, #number) == number and string.byte(entry, #number + 1) == 58
end

-- Deletes the entries of items that end; `keys`: their unique keys (false or nil: it has none). Those that somebody else
-- owns by now, or that stay taken for longer, stay.
local function release_keys(numbers, keys)
  local named, owners, released = {}, {}, {}
  for i, number in ipairs(numbers) do
    if keys[i] then named[#named + 1], owners[#owners + 1] = keys[i], number end
  end
  if #named == 0 then return end
  local entries = redis.call('HMGET', UNIQUES, unpack(named))
  local reserved = redis.call('EXISTS', TIMERS) == 1 and redis.call('ZMSCORE', TIMERS, unpack(named)) or {}
  for i, key in ipairs(named) do
    local is_reserved = reserved[i] and tonumber(reserved[i]) > now
    if is_owner(owners[i], entries[i]) and not is_reserved then released[#released + 1] = key end
  end
  if #released > 0 then redis.call('HDEL', UNIQUES, unpack(released)) end
end
