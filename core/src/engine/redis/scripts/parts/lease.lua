-- Moves what is due or expired, then takes items for those who wait. ARGV[at]: how long (ms) the caller
-- goes on waiting without looking if there are too few items, 0 if it does not wait; from there to the
-- end groups of: how many items, duration in ms. Returns ms until something is due or expires (-1:
-- nothing is; 0: look again now); what was taken is in the lists of parts/take.lua.
local function lease(at)
  local patience, wanted = tonumber(ARGV[at]), 0
  for i = at + 1, #ARGV, 2 do wanted = wanted + tonumber(ARGV[i]) end
  local meta = redis.call('HMGET', META, 'paused', 'waiting', 'largest', 'leased', 'watched')
  local paused, waiting = meta[1], tonumber(meta[2]) or 0
  local due = next_due()
  if due and due <= now then
    move_due(500)
    due = next_due()
  end

  local more = not paused and take(at, wanted, math.max(1, tonumber(meta[3]) or 1))
  local got = #numbers
  if got > 0 then
    redis.call('HSET', META, 'leased', text((meta[4] or 0) + got - doubles))
    if not due or soonest < due then due = soonest end
    tell_before(meta[5], soonest)
  end
  if more and (waiting > now or got < wanted) then more = redis.call('EXISTS', unpack(KEYS, READY)) > 0 end
  if more then wake_before(waiting, now) elseif got > 0 then wake_before(waiting, due) end

  local look = due and math.max(0, due - now) or -1
  if more and got < wanted then look = 0 end
  if got < wanted and patience > 0 then
    local promise = now + patience
    if look >= 0 then promise = math.min(promise, now + look) end
    if promise > waiting then redis.call('HSET', META, 'waiting', text(promise)) end
  end
  return look
end

-- What an earlier execution has taken, named as `held` has it: what is leased by it still.
local function take_again(names)
  for number, delivery in string.gmatch(names, '([^ :]+):?(%d*)') do
    local extra = redis.call('HGET', EXTRA, number)
    local mine = delivery_of(extra) == (delivery == '' and '0' or delivery) and redis.call('ZSCORE', LEASED, number)
    keep(number, mine and redis.call('HGET', ITEMS, number) or '', extra)
  end
end
