-- Removes items of one state, oldest first, in one bounded step.
-- KEYS  see parts/keys.lua
-- ARGV  [1] lane, [2] number, [3] state, [4] at most how many (0 to 1,000), [5] where an earlier step says that it goes on, or ''
-- Reply a string: how many were removed, and, unless nothing is left, a space and where the next step goes on. Perhaps followed
--       by what parts/end_step.lua has
local done = load_reply()
if done then return done end
local refused = refusal(redis.call('HGET', META, 'format'))
if refused then return refused end

-- What is added later has a higher count, also follow-ups of what is removed, which may stand before what is left.
local bound, place = string.match(ARGV[5], '^(%d+) (.*)$')
local last = not bound and redis.call('HGET', META, 'last')
local newest = tonumber(bound) or math.max(last and count_of(last) or 0, (now - YEAR_2026) * 256 - 1)
local function is_newer(number) return (count_of(number) or 0) > newest end

local sets = { delayed = DELAYED, leased = LEASED, dead = DEAD, completed = COMPLETED, cancelled = CANCELLED, held = HELD }
local set, limit = sets[ARGV[3]], tonumber(ARGV[4])
local numbers, list, scores, next_place = {}, nil, {}, nil
if limit > 0 and set then
  -- Of retained items, only those whose time has not passed.
  local kept = set == COMPLETED or set == CANCELLED
  local found = redis.call('ZRANGE', set, place or kept and '(' .. text(now) or '-inf', '+inf', 'BYSCORE', 'LIMIT', 0, limit,
    'WITHSCORES')
  for i = 1, #found, 2 do
    if not is_newer(found[i]) then numbers[#numbers + 1], scores[#numbers + 1] = found[i], found[i + 1] end
  end
  -- Of those with one score, the newer ones stand behind the others.
  if #found == 2 * limit then next_place = (is_newer(found[#found - 1]) and '(' or '') .. found[#found] end
elseif limit > 0 then
  local lists = {}
  for priority = tonumber(place) or 0, 9 do lists[#lists + 1] = KEYS[READY + priority] end
  local size = #lists
  lists[size + 1], lists[size + 2], lists[size + 3] = 'RIGHT', 'COUNT', limit
  local popped = redis.call('LMPOP', size, unpack(lists))
  if popped then
    list, numbers = popped[1], popped[2]
    next_place = string.match(list, ':ready:(%d)$') or '0'
    local older = 0
    while numbers[older + 1] and not is_newer(numbers[older + 1]) do older = older + 1 end
    put_back(list, numbers, older)
    -- What stands behind a newer one has come there since.
    if older == 0 then next_place = next_place ~= '9' and text(next_place + 1) or nil end
  end
end
local removed = 0
if #numbers > 0 then
  -- Records are read because they have the ids and the unique keys.
  local details = redis.call('HMGET', DETAILS, unpack(numbers))
  local fits = fitting_results(numbers, (fitting(details, MAX_REPLY, 1)), MAX_REPLY)
  if set and fits < #numbers then next_place = scores[fits + 1] end
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
local answer = text(removed) .. (next_place and ' ' .. text(newest) .. ' ' .. next_place or '') .. end_step.deferred
save_reply(answer)
return answer
