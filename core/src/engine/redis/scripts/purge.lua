-- Removes items of one state, oldest first, in one bounded step.
-- KEYS  see parts/keys.lua
-- ARGV  [1] lane, [2] number, [3] state, [4] at most how many (0 to 1,000)
-- Reply a string: how many were removed, and how many were looked at (0: the state is empty), perhaps
--       followed by what parts/end_step.lua has
local done = load_reply()
if done then return done end
local refused = refusal(redis.call('HGET', META, 'format'))
if refused then return refused end

local sets = { delayed = DELAYED, leased = LEASED, dead = DEAD, completed = COMPLETED, cancelled = CANCELLED, held = HELD }
local set, limit = sets[ARGV[3]], tonumber(ARGV[4])
local numbers, list
if limit == 0 then
  numbers = {}
elseif set then
  -- Of retained items, only those whose time has not passed.
  local kept = set == COMPLETED or set == CANCELLED
  numbers = redis.call('ZRANGE', set, kept and '(' .. text(now) or '-inf', '+inf', 'BYSCORE', 'LIMIT', 0, limit)
else
  local popped = redis.call('LMPOP', 10, KEYS[READY], KEYS[READY + 1], KEYS[READY + 2], KEYS[READY + 3], KEYS[READY + 4],
    KEYS[READY + 5], KEYS[READY + 6], KEYS[READY + 7], KEYS[READY + 8], KEYS[READY + 9], 'RIGHT', 'COUNT', limit)
  numbers, list = popped and popped[2] or {}, popped and popped[1]
end
local removed = 0
if #numbers > 0 then
  -- Records are read because they have the ids and the unique keys.
  local details = redis.call('HMGET', DETAILS, unpack(numbers))
  local fits = fitting_results(numbers, (fitting(details, MAX_REPLY, 1)), MAX_REPLY)
  if list then put_back(list, numbers, fits) end
  for i = #numbers, fits + 1, -1 do numbers[i] = nil end
  local existing, ids, known, their_details, keys, seen = {}, {}, {}, {}, {}, {}
  local records = {}
  for i, record in ipairs(redis.call('HMGET', ITEMS, unpack(numbers))) do
    local n, number = #existing + 1, numbers[i]
    if record and not seen[number] then
      seen[number] = true
      local id, _, key = read_head(record)
      existing[n], known[n], their_details[n] = number, true, details[i]
      ids[n], keys[n], records[n] = id or false, key, record
    end
  end
  local free_places = set == LEASED and begin_leaving(existing, find_keys(records, #existing))
  if set == HELD and #existing > 0 then drop_entries(existing, their_details) end
  if has_events() then note_events('r', existing, ids) end
  fire_removals(existing)
  if set == LEASED then drop_successors(existing) end
  if #existing > 0 then removed = delete_all_of(existing, ids, known, their_details, keys) end
  -- `delete_items` has counted a tombstone for each ready item, but the numbers were popped.
  if list then
    local priority = string.match(list, ':ready:(%d)$') or '0'
    redis.call('HINCRBY', META, 'gone:' .. priority, -#numbers)
    local fronts = read_fronts(redis.call('HGET', META, 'fronts'))
    left_front(fronts, priority, #numbers)
  elseif removed < #numbers then redis.call('ZREM', set, unpack(numbers))
  end
  if free_places then free_places() end
  if removed > 0 then redis.call('HINCRBY', META, 'removed', text(removed)) end
  report_endings('r', ids)
end
notify_opened()
local answer = removed .. ' ' .. #numbers .. end_step.deferred
save_reply(answer)
return answer
