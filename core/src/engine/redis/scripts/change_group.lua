-- Creates a group, or seals, cancels or removes it. Each may be repeated.
-- KEYS  see parts/keys.lua
-- ARGV  [1] `create`, `seal`, `cancel` or `remove`, [2] the stored id; to create: [3] salt, [4] the name of its follow-ups, [5]
--       these, or nothing; else [3] the number of the group; to seal: [4] how many places it has
-- Reply the number of the group that is so now, or was removed; empty if there is none, and if one that was to be cancelled has
--       ended. Then a space, `n` if the queue is new, and what parts/end_step.lua has
local meta = redis.call('HMGET', META, 'format', 'last')
local refused = refusal(meta[1])
if refused then return refused end
local what, id, number = ARGV[1], ARGV[2], ARGV[3]
local group, old = read_group(id, redis.call('HGET', GROUPS, 'G' .. id))

if what == 'create' then
  if group then
    touch()
    return group.number .. ' '
  end
  if old then delete_group(old) end
  -- Each new group looks at some others, so that those that are gone cannot pile up.
  for _, field in ipairs(redis.call('HRANDFIELD', GROUPS, 3)) do
    local other = group_of_field(field)
    local _, gone = read_group(other, other and redis.call('HGET', GROUPS, 'G' .. other))
    if gone then delete_group(gone) end
  end
  if not meta[1] then make_empty_queue(number) end
  make_extended(meta[1])
  local last = redis.call('HGET', META, 'last')
  number = in_base_36(math.max(last and count_of(last) or 0, (now - YEAR_2026) * 256) + 1) .. number
  redis.call('HSET', META, 'last', number)
  local name = ARGV[4] or ''
  if name ~= '' then redis.call('HSET', FOLLOW_UPS, name, ARGV[5]) end
  group = { number = number, places = 0, ended = 0, completed = 0, over = false, changed = now, name = name }
  redis.call('HSET', GROUPS, 'G' .. id, pack_group(group))
  return number .. ' ' .. (meta[1] and '' or 'n')
end

if not group or group.number ~= number then
  touch()
  return ' '
end
if what == 'remove' then
  delete_group(group)
  report_groups({ group })
  return number .. ' '
end

if what == 'cancel' then
  if group.over then
    touch()
    return ' '
  end
  -- Those that have not told yet are told when they do. Before the mark is written all others are: that may be repeated.
  local field, notes = field_of_joined(group), {}
  local joined = redis.call('HGET', GROUPS, field) or NOT_JOINED
  for queue in string.gmatch(string.sub(joined, 2), '[^ ]+') do
    notes[#notes + 1] = note_of_report(queue, 'x', id, number)
  end
  for at = 1, #notes, 1000 do write_notes({ unpack(notes, at, math.min(#notes, at + 999)) }) end
  group.changed = now
  redis.call('HSET', GROUPS, field, 'x' .. string.sub(joined, 2), 'G' .. id, pack_group(group))
  return number .. ' ' .. end_step.deferred
end

local places = tonumber(ARGV[4])
if group.places > 0 then
  touch()
  return group.places == places and number .. ' ' .. (group.over and 'o' or '') or ' '
end
-- Until now all places have counted.
local fields, left = {}, places
for index = 0, math.ceil(places / IN_FIELD) - 1 do fields[#fields + 1] = field_of_places(group, index) end
group.places, group.ended, group.completed, group.changed = places, 0, 0, now
for _, states in ipairs(redis.call('HMGET', GROUPS, unpack(fields))) do
  states = string.sub(states or '', 1, math.min(IN_FIELD, left))
  group.ended = group.ended + select(2, string.gsub(states, '[ecr]', ''))
  group.completed = group.completed + select(2, string.gsub(states, 'c', ''))
  left = left - IN_FIELD
end
group.over = group.ended == places
if group.over then note_groups({ group }) end
redis.call('HSET', GROUPS, 'G' .. id, pack_group(group))
if group.over then report_groups({ group }) end
return number .. ' ' .. end_step.deferred
