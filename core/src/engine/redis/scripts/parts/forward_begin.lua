-- The beginning of forward.lua: which entries are to be added, and the arguments of add.lua.
-- FORWARD_LANES has for each queue that has sent entries, `name incarnation`: the number of the last entry that was handled, and
-- when; and the count `forgotten`: that of the last lane that was deleted, or a higher one. A drop of the queue spares it.
local format = redis.call('HGET', META, 'format')
local refused = refusal(format)
if refused then return refused end
local salt, lane = ARGV[1], ARGV[2]
local last_number, forgotten = unpack(redis.call('HMGET', FORWARD_LANES, lane, 'forgotten'))
last_number = string.match(last_number or '', '^[^ ]+')
local delivered = last_number and count_of(last_number) or 0
if not last_number and count_of(ARGV[3]) <= (tonumber(forgotten) or 0) then
  touch()
  return '!' .. forgotten
end

local items, letters, ids, uniques, twice, reports, joins, cancels = {}, {}, {}, {}, false, {}, {}, {}
for at = 3, #ARGV, 2 do
  local number, letter = ARGV[at], 's'
  if count_of(number) > delivered and string.byte(ARGV[at + 1], 5) == 0 then
    local fine, report = pcall(read_report, ARGV[at + 1])
    letter = fine and report and '1' or 'x'
    if letter == '1' then
      local list = report.state == 'j' and joins or report.state == 'x' and cancels or reports
      list[#list + 1] = report
      report.entry = number
    end
    last_number = number
  elseif count_of(number) > delivered then
    local fine, theirs = pcall(unpack_items, ARGV[at + 1], 1, 7, '')
    local item = fine and theirs[1]
    letter = item and item.record and '+' or 'x'
    if letter == '+' then
      -- The rest comes in another step, as it depends on what this one adds.
      if ids[item.id] or item.unique and item.replaces and uniques[item.unique] then break end
      items[#items + 1], ids[item.id], item.entry = item, true, number
      if item.unique then twice, uniques[item.unique] = twice or uniques[item.unique], true end
    end
    last_number = number
  end
  letters[#letters + 1] = letter
end

local lane_is_written = false
local function write_lane()
  redis.call('HSET', FORWARD_LANES, lane, last_number .. ' ' .. text(now))
  redis.call('PERSIST', FORWARD_LANES)
  lane_is_written = true
end
if #reports > 0 then fill_places(reports, lane) end
local source = string.match(lane, '^[^ ]*')
if #joins > 0 then take_joins(joins, source) end
if #cancels > 0 then take_cancels(cancels, source, format) end
if #items == 0 then
  write_lane()
  return table.concat(letters) .. end_step.deferred
end

add_arguments(items, salt, twice)
local count, count_before, forwarded = #items, nil, { items = items, lane = lane }
local known = redis.call('HMGET', IDS, unpack(ARGV, 5, 4 + count))
local meta = redis.call('HMGET', META, 'last', 'waiting', 'added', 'format')
