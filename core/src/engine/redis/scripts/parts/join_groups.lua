-- Writes the entries of members, before their names are written. A group of which this queue has had none learns of it, so that
-- whoever cancels the group reaches this queue; and these members are swept soon if their group is cancelled and `may_sweep`.
-- `names`: names and what they have, in turn.
local function join_groups(names, may_sweep)
  local entries, groups, fields, id_of, names_of = {}, {}, {}, {}, {}
  for n = 1, #names, 2 do
    local group, id = group_named(names[n], names[n + 1])
    if group then
      entries[#entries + 1], entries[#entries + 2] = '0', group .. ' ' .. names[n]
      if not id_of[group] then
        id_of[group], names_of[group] = id, {}
        groups[#groups + 1], fields[#fields + 1] = group, 'J' .. group
      end
      table.insert(names_of[group], names[n])
    end
  end
  if #groups == 0 then return end
  local notes, joined = {}, {}
  for i, known in ipairs(redis.call('HMGET', GROUPS, unpack(fields))) do
    local group = groups[i]
    if not known then
      local queue, number = string.match(group, '^([^ ]+) (.*)$')
      notes[#notes + 1] = note_of_report(queue, 'j', id_of[group], number)
      joined[#joined + 1], joined[#joined + 2] = fields[i], 'j ' .. text(now)
    elseif may_sweep and string.sub(known, 1, 1) == 'x' then
      notes[#notes + 1] = '0s' .. group .. ' =' .. table.concat(names_of[group])
    end
  end
  write_notes(notes)
  if #joined > 0 then
    -- Each looks at some others, so that old ones cannot pile up. Without one, the next member joins again.
    local sample = redis.call('HRANDFIELD', GROUPS, 3, 'WITHVALUES')
    for i = 1, #sample, 2 do
      local at = string.sub(sample[i], 1, 1) == 'J' and tonumber(string.match(sample[i + 1], '^%l (%d+)$') or 0)
      if at and at + DAY <= now then redis.call('HDEL', GROUPS, sample[i]) end
    end
    redis.call('HSET', GROUPS, unpack(joined))
  end
  redis.call('ZADD', MEMBERS, unpack(entries))
end
