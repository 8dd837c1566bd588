-- The beginning of tick.lua, behind parts/add_begin.lua.
local version, last_id = read_schedule(redis.call('HGET', SCHEDULES, swap.name))
if version ~= swap.expected then return '-' end

-- Whether the item with this id has not ended.
local function is_live(id)
  local number = id ~= '' and redis.call('HGET', IDS, id)
  if not number then return false end
  for _, key in ipairs({ DEAD, COMPLETED, CANCELLED }) do
    if redis.call('ZSCORE', key, number) then return false end
  end
  return not has_passed(redis.call('ZSCORE', EXPIRIES, number)) or redis.call('ZSCORE', LEASED, number)
end

if swap.unless_live == '1' and is_live(last_id) then
  write_schedule(last_id, meta[2], redis.call('HGET', META, 'watched'))
  save_reply('s')
  return 's'
end
