-- Counts a failure of leased items. They go to the back of the queue, at once or when the delay ends, or are
-- dead at their limit of attempts, or are cancelled if that was requested. The error text is kept with the item.
-- KEYS  see parts/keys.lua
-- ARGV  [1] lane, [2] number, then per lease: number, delivery, delay in ms (-1: dead whatever its limit), error text. If
--       the failure adds items when it ends its item, the delay is followed by a space and the length of the error text, and
--       the error text by what parts/fire.lua reads
-- Reply a string: for each lease 1 (the item lives), 2 (it is dead now), 3 (it is cancelled) or 0 (the lease is lost),
--       perhaps followed by what parts/end_step.lua has
local done = load_reply()
if done then return done end
local refused = refusal(redis.call('HGET', META, 'format'))
if refused then return refused end

local leases, deadlines, details = read_current(4)
local answers, removed, changed, died, soonest, first_due = {}, {}, {}, {}, nil, nil
local moves, marked = new_moves(), ends and ends.find_marked(leases)
local free_places = ends and ends.find_leaving(leases, details, deadlines)
local cancelled, added, ended = marked and {}, {}, {}
for i, number in ipairs(leases) do
  answers[i] = '0'
  if deadlines[i] then
    local delay, err, adds = tonumber(ARGV[1 + 4 * i]), ARGV[2 + 4 * i], nil
    if not delay then
      local own, length = string.match(ARGV[1 + 4 * i], '^(%S+) (%d+)$')
      delay, err, adds = tonumber(own), string.sub(err, 1, length), string.sub(err, length + 1)
    end
    local x = unpack_details(details[i])
    x.failures, x.deliveries = x.failures + 1, x.deliveries + 1
    x.front, x.since, x.error = 0, now + math.max(0, delay), err
    note_ending(x, 'F')
    local most = x.max_attempts > 0 and x.max_attempts or ends and ends.default_attempts() or 0
    answers[i] = '1'
    if marked and marked[number] then
      answers[i] = '3'
      cancelled[#cancelled + 1] = number
    elseif delay < 0 or most > 0 and x.failures + x.expiries >= most then
      answers[i] = '2'
      died[#died + 1] = number
      moves.at(DEAD, now, number)
    elseif delay > 0 then
      moves.at(DELAYED, now + delay, number)
      if not first_due or now + delay < first_due then first_due = now + delay end
    else
      moves.to_back(x.priority, number)
    end
    if adds and answers[i] ~= '1' then ended[#ended + 1], added[#ended + 1] = number, adds end
    removed[#removed + 1] = number
    changed[#changed + 1] = number
    changed[#changed + 1] = pack_details(x)
    if answers[i] == '1' and (not soonest or delay < soonest) then soonest = delay end
  end
end
if #removed > 0 then
  if ends then ends.note_ends('f', changed, died) end
  redis.call('ZREM', LEASED, unpack(removed))
  redis.call('HSET', DETAILS, unpack(changed))
  if free_places then free_places() end
  if ends then ends.fire_deaths(died) end
  if added[1] then ends.fire_added(ended, added) end
  moves.write()
  if cancelled and cancelled[1] then ends.end_marked(cancelled, marked) end
  redis.call('HINCRBY', META, 'failed', #removed)
  if ends then ends.attempts_counted(removed, died) end
  if #died > 0 then redis.call('HINCRBY', META, 'died', #died) end
  local meta = redis.call('HMGET', META, 'waiting', 'watched')
  if soonest then notify_workers(meta[1], now + soonest) end
  if first_due then notify_cleaner(meta[2], first_due) end
end
if ends then ends.follow(removed) end
if notify_opened then notify_opened() end
local answer = table.concat(answers) .. (ends and end_step.deferred or '')
save_reply(answer)
return answer
