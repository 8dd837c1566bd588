-- The salt of the new numbers that a script gives without getting one: the same for a retry.
local function salt_of_call()
  local hash = tonumber(string.sub(redis.sha1hex(ARGV[1] .. ' ' .. ARGV[2]), 1, 8), 16)
  return string.sub('0000' .. in_base_36(hash), -SALT)
end

