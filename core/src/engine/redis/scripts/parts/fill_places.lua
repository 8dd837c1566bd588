-- Fills places, in the order of the reports; each has the number of its `entry`. The notes of groups that end come first, then
-- one command writes all else, with the number of the last report of the lane. The lane itself comes later: if the step stops in
-- between, these reports are known, so one that comes alone once more changes nothing.
local IS_FILLED, IS_COMPLETED = { e = 1, c = 1, r = 1 }, { c = 1 }

-- What the state of a place becomes. A refusal says nothing of a place that is filled, and a member that is added opens only
-- one that was refused.
local function state_after(before, report)
  if report == 'r' then return IS_FILLED[before] and before or 'r' end
  if report == '+' then return before == 'r' and '-' or before end
  return report
end

local function fill_places(reports, lane)
  local filled = redis.call('HGET', GROUPS, 'L' .. lane)
  local last = filled and count_of(filled) or 0
  local ids, headers, group_of = {}, {}, {}
  for _, report in ipairs(reports) do
    if count_of(report.entry) <= last then
      report.id = nil
    elseif group_of[report.id] == nil then
      group_of[report.id] = false
      ids[#ids + 1], headers[#headers + 1] = report.id, 'G' .. report.id
    end
  end
  for i, found in ipairs(#ids > 0 and redis.call('HMGET', GROUPS, unpack(headers)) or {}) do
    group_of[ids[i]] = read_group(ids[i], found)
  end
  local fields, states = {}, {}
  for _, report in ipairs(reports) do
    local group = report.id and group_of[report.id]
    local most = group and (group.places > 0 and group.places or MOST_PLACES)
    if group and group.number == report.number and not group.over and report.place < most then
      report.group, report.field = group, field_of_places(group, math.floor(report.place / IN_FIELD))
      if not states[report.field] then fields[#fields + 1], states[report.field] = report.field, '' end
    end
  end
  if #fields == 0 then return end
  for i, found in ipairs(redis.call('HMGET', GROUPS, unpack(fields))) do states[fields[i]] = found or '' end
  local ended, values, written = {}, { 'L' .. lane, reports[#reports].entry }, {}
  for _, report in ipairs(reports) do
    local group, field = report.group, report.field
    if group and not group.over then
      local at, known = report.place % IN_FIELD + 1, states[field]
      known = known .. string.rep('-', at - #known)
      local before = string.sub(known, at, at)
      local state = state_after(before, report.state)
      states[field] = string.sub(known, 1, at - 1) .. state .. string.sub(known, at + 1)
      group.ended = group.ended + (IS_FILLED[state] or 0) - (IS_FILLED[before] or 0)
      group.completed = group.completed + (IS_COMPLETED[state] or 0) - (IS_COMPLETED[before] or 0)
      group.changed = now
      -- A group that is not sealed has 0 places yet.
      if group.places > 0 and group.ended == group.places then
        group.over = true
        ended[#ended + 1] = group
      end
      if not written[group] then written[group], written[#written + 1] = true, group end
    end
  end
  note_groups(ended)
  for _, group in ipairs(written) do
    values[#values + 1] = 'G' .. group.id
    values[#values + 1] = pack_group(group)
  end
  for _, field in ipairs(fields) do
    values[#values + 1] = field
    values[#values + 1] = states[field]
  end
  redis.call('HSET', GROUPS, unpack(values))
  report_groups(ended)
end
