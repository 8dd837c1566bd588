-- Cancels members of a cancelled group, as the first note of DEFERRED says, in one bounded step.
-- KEYS  see parts/keys.lua
-- ARGV  [1] and [2] who writes events, the same in all calls, as whoever repeats a step that has stopped may be another client;
--       [3] salt
-- Reply see parts/what_is_left.lua
local MOST = 250
local meta = redis.call('HMGET', META, 'format', 'cancels')
local refused = refusal(meta[1])
if refused then return refused end
local note = redis.call('LRANGE', DEFERRED, 0, 0)[1]
local group, rest = string.match(note or '', '^0s([^ ]+ [^ ]+) (.*)$')
if not group then
  if string.sub(note or '', 1, 2) == '0s' then redis.call('LTRIM', DEFERRED, 1, -1) end -- damage
  return what_is_left()
end

local entries, names, strays, is_list = {}, {}, {}, string.sub(rest, 1, 1) == '='
if is_list then
  for at = 2, math.min(#rest, 1 + MOST * NAME), NAME do
    names[#names + 1] = string.sub(rest, at, at + NAME - 1)
    entries[#names] = group .. ' ' .. names[#names]
  end
else
  local from = rest == '' and '[' .. group .. ' ' or '(' .. group .. ' ' .. rest
  entries = redis.call('ZRANGE', MEMBERS, from, '[' .. group .. '!', 'BYLEX', 'LIMIT', 0, MOST)
  for i, entry in ipairs(entries) do names[i] = string.sub(entry, #group + 2) end
end
-- The items that have these names now: not those whose ends wait for distribute.lua.
local ids = {}
for i, packed in ipairs(#names > 0 and redis.call('HMGET', FOLLOW_UPS, unpack(names)) or {}) do
  local fine, id = pcall(owner_of_packed, packed or '')
  ids[i] = fine and id or ''
  if not packed then strays[#strays + 1] = entries[i] end
end
local numbers = #ids > 0 and redis.call('HMGET', IDS, unpack(ids)) or {}
local found = read_items(numbers, { leased = true }, MAX_REPLY)
for i, number in ipairs(numbers) do
  local item = number and found[number]
  if item and not item.left and item.follow_ups ~= names[i] then numbers[i] = false end
end
local last = #names
for i, answer in ipairs(cancel_items(numbers, ids, found, meta[1], meta[2], ARGV[3])) do
  if answer == '-' then
    last = i - 1
    break
  end
end
close_events()
if #strays > 0 then redis.call('ZREM', MEMBERS, unpack(strays)) end
-- The rest goes behind what these ends have noted, and what others have.
local left
if is_list then
  local names_left = string.sub(rest, 2 + last * NAME)
  left = names_left ~= '' and '=' .. names_left
elseif last < #names or #names == MOST then
  left = names[last] or rest
end
if left then write_notes({ '0s' .. group .. ' ' .. left }) end
redis.call('LTRIM', DEFERRED, 1, -1)
return what_is_left()
