-- Reads a part of the history, the oldest rows first.
-- KEYS  see parts/keys.lua
-- ARGV  [1] letter of the kind of row, [2] ms that a row stands for, [3] how many rows there are, [4] the first minute or hour to
--       read, counted since 1970; if its row is overwritten, the oldest one that is not, [5] how many to read at most
-- Reply [1] server time, [2] where to go on, or '' if that was all, then for each row that is there its numbers and its
--       measurements ('' if there are none)
local letter, lasts, count = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local current = math.floor(now / lasts)
local first = math.max(tonumber(ARGV[4]), current - count + 1)
local last = math.min(current, first + tonumber(ARGV[5]) - 1)
local reply = { text(now), last < current and text(last + 1) or '' }
local names = {}
for index = first, last do
  names[#names + 1] = letter .. index % count
  names[#names + 1] = letter .. index % count .. '+'
end
if #names == 0 then return reply end
local values = redis.call('HMGET', HISTORY, unpack(names))
for i = 1, #names, 2 do
  if values[i] then
    reply[#reply + 1] = values[i]
    reply[#reply + 1] = values[i + 1] or ''
  end
end
return reply
