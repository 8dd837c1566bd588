-- Returns leased items to the front of the queue, at once or when the delay ends, without counting an
-- attempt. Those that have expired meanwhile are dead, and those whose cancellation was requested are cancelled.
-- A reason is kept with the item, with how often in a row it was given, and when first.
-- KEYS  see parts/keys.lua
-- ARGV  [1] lane, [2] number, then per lease: number, delivery, delay in ms, `=` and the reason (or
--       nothing: what the item keeps of reasons stays)
-- Reply a string: for each lease 1 (released) or 0 (lost), perhaps followed by what parts/end_step.lua has
local done = load_reply()
if done then return done end
local refused = refusal(redis.call('HGET', META, 'format'))
if refused then return refused end

local leases, deadlines, details = read_current(4)
local answers, removed, changed, soonest, first_due = {}, {}, {}, nil, nil
local moves, marked = new_moves(), ends and ends.find_marked(leases)
local free_places = ends and ends.find_leaving(leases, details, deadlines)
local cancelled, expired, died = marked and {}, ends and ends.find_expired(leases), nil
for i, number in ipairs(leases) do
  answers[i] = deadlines[i] and '1' or '0'
  if deadlines[i] then
    local delay, reason = tonumber(ARGV[1 + 4 * i]), ARGV[2 + 4 * i]
    local x = unpack_details(details[i])
    x.deliveries = x.deliveries + 1
    note_release(x, reason)
    local ends_now = marked and marked[number] or expired and expired[number]
    if marked and marked[number] then
      cancelled[#cancelled + 1] = number
    elseif ends_now then
      died = died or {}
      died[#died + 1] = number
      x.error = expired[number]
      moves.at(DEAD, now, number)
    elseif delay > 0 then
      x.front, x.since = 1, now + delay
      moves.at(DELAYED, now + delay, number)
      if not first_due or now + delay < first_due then first_due = now + delay end
    else
      moves.to_front(x.priority, number)
    end
    removed[#removed + 1] = number
    changed[#changed + 1] = number
    changed[#changed + 1] = pack_details(x)
    if not ends_now and (not soonest or delay < soonest) then soonest = delay end
  end
end
if #removed > 0 then
  if ends then ends.note_ends('b', changed, died) end
  redis.call('ZREM', LEASED, unpack(removed))
  redis.call('HSET', DETAILS, unpack(changed))
  if free_places then free_places() end
  if died then ends.fire_deaths(died) end
  moves.write(ends and ends.came_back)
  if cancelled and cancelled[1] then ends.end_marked(cancelled, marked) end
  if died then ends.items_expired(died) end
  local meta = redis.call('HMGET', META, 'waiting', 'watched')
  if soonest then notify_workers(meta[1], now + soonest) end
  if first_due then notify_cleaner(meta[2], first_due) end
end
if ends then ends.follow(removed) end
if notify_opened then notify_opened() end
local answer = table.concat(answers) .. (ends and end_step.deferred or '')
save_reply(answer)
return answer
