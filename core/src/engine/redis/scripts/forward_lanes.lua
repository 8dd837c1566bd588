-- Reads lanes of queues that have sent nothing for an hour.
-- KEYS  see parts/keys.lua
-- ARGV  [1] cursor, [2] about how many to look at
-- Reply [1] next cursor, [2] for each: lane, and what it has
local HOUR = 3600000
local page = redis.call('HSCAN', FORWARD_LANES, ARGV[1], 'COUNT', ARGV[2])
local idle = {}
for i = 1, #page[2], 2 do
  local lane, value = page[2][i], page[2][i + 1]
  local at = tonumber(string.match(value, '^[^ ]+ (%d+)$'))
  if lane ~= 'forgotten' and not (at and now - at <= HOUR) then
    idle[#idle + 1] = lane
    idle[#idle + 1] = value
  end
end
return { page[1], idle }
