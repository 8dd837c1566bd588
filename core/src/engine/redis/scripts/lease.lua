-- Leases the oldest ready items of the highest priorities, after moving what is due or expired.
-- KEYS  see parts/keys.lua, all
-- ARGV  [1] lane, [2] number, [3] how long (ms) the caller goes on waiting without looking if there
--       are too few items, 0 if it does not wait, then groups of: how many items, duration in ms
--       (1,000 items in all at most). A group of 0 items only looks and passes the wake token on.
-- Reply [1] server time, [2] ms until something is due or expires (-1: nothing is; 0: look again now),
--       [3] numbers, [4] records, [5] extras ('' where there is none; empty if none has any), which
--       belong to the groups in order. An empty record: lost before a retry, or not to be leased.
local done, at = recall()
if done and not at then return done end
if done then
  for number, delivery in string.gmatch(done, '(%d+):?(%d*)') do
    local extra = redis.call('HGET', EXTRA, number)
    local mine = delivery_of(extra) == (delivery == '' and '0' or delivery) and redis.call('ZSCORE', LEASED, number)
    keep(number, mine and redis.call('HGET', ITEMS, number) or '', extra)
  end
  return { text(at), 0, numbers, records, extras }
end

local patience, wanted = tonumber(ARGV[3]), 0
for i = 4, #ARGV, 2 do wanted = wanted + tonumber(ARGV[i]) end
local meta = redis.call('HMGET', META, 'paused', 'waiting', 'largest', 'leased')
local paused, waiting = meta[1], tonumber(meta[2]) or 0
local due = next_due()
if due and due <= now then
  move_due(500)
  due = next_due()
end

local more = not paused and take(wanted, math.max(1, tonumber(meta[3]) or 1))
local got = #numbers
if got > 0 then
  redis.call('HSET', META, 'leased', text((meta[4] or 0) + got - doubles))
  if not due or soonest < due then due = soonest end
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
remember(table.concat(held, ' '))
return { text(now), look, numbers, records, extras }
