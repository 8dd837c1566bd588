-- Reads a part of the history.
-- KEYS  see parts/keys.lua, all
-- ARGV  [1] letter of the kind of row, [2] first, [3] last place
-- Reply [1] server time, then for each place the numbers of its row and its measurements ('' if there are none)
local names = {}
for place = tonumber(ARGV[2]), tonumber(ARGV[3]) do
  names[#names + 1] = ARGV[1] .. place
  names[#names + 1] = ARGV[1] .. place .. '+'
end
local reply = { text(now) }
for i, value in ipairs(redis.call('HMGET', HISTORY, unpack(names))) do reply[i + 1] = value or '' end
return reply
