-- Reads a group.
-- KEYS  see parts/keys.lua
-- ARGV  [1] the stored id, [2] the first place, [3] how many places
-- Reply empty if there is none; else its number, how many places it has, 0 if it is not sealed, how many have ended, how many are
--       completed, 1 if it has ended, else 0, when it was changed last, and the states of these places, see parts/groups.lua
local group = read_group(ARGV[1], redis.call('HGET', GROUPS, 'G' .. ARGV[1]))
if not group then return {} end
local from, to = tonumber(ARGV[2]), math.min(ARGV[2] + ARGV[3], group.places > 0 and group.places or MOST_PLACES)
local fields, states, first = {}, {}, math.floor(from / IN_FIELD)
for index = first, math.ceil(to / IN_FIELD) - 1 do fields[#fields + 1] = field_of_places(group, index) end
for i, found in ipairs(#fields > 0 and redis.call('HMGET', GROUPS, unpack(fields)) or {}) do
  states[i] = (found or '') .. string.rep('-', IN_FIELD - #(found or ''))
end
local from_field = from - first * IN_FIELD
return { group.number, group.places, group.ended, group.completed, group.over and 1 or 0, text(group.changed),
  string.sub(table.concat(states), from_field + 1, from_field + math.max(0, to - from)) }
