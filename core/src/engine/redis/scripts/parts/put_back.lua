-- Puts numbers that were popped back to the front of their list, in their order: those behind place `last`.
local function put_back(key, popped, last)
  local rest = {}
  for i = #popped, last + 1, -1 do
    rest[#rest + 1] = popped[i]
    popped[i] = nil
  end
  if #rest > 0 then redis.call('RPUSH', key, unpack(rest)) end
end

-- Of what was popped and found, puts back what stands behind the last of `count` that exist.
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
