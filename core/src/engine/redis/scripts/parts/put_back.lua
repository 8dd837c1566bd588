-- Puts the numbers after index `last` back to the front of the list they were popped from, in their order.
local function put_back(key, popped, last)
  local rest = {}
  for i = #popped, last + 1, -1 do
    rest[#rest + 1] = popped[i]
    popped[i] = nil
  end
  if #rest > 0 then redis.call('RPUSH', key, unpack(rest)) end
end

-- Keeps `count` of the popped numbers that exist, and puts those after the last of them back.
local function keep_only(count, key, popped, found)
  for i = 1, #popped do
    if found[i] then count = count - 1 end
    if count == 0 then
      put_back(key, popped, i)
      for place = #found, i + 1, -1 do found[place] = nil end
      return
    end
  end
end
