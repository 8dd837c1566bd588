-- Reads which commands the user may run. A script stops half-way at a command that is refused.
-- KEYS  none
-- ARGV  for each command how many words it has, then the words
-- Reply for each command 1 (allowed) or 0
local answers, at = {}, 1
while at <= #ARGV do
  local words = tonumber(ARGV[at])
  local known, allowed = pcall(redis.acl_check_cmd, unpack(ARGV, at + 1, at + words))
  answers[#answers + 1] = known and allowed and '1' or '0'
  at = at + 1 + words
end
return table.concat(answers)
