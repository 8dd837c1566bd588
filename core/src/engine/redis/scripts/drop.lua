-- Deletes the queue, unless it has another incarnation by now. The server frees the memory in the
-- background.
-- KEYS  see parts/keys.lua
-- ARGV  [1] the incarnation; '' for the remains of a queue without one, [2] 1 to drop follow-ups for other queues with it,
--       [3] 1 to drop its items too if it has had members of groups
-- Reply 1 if there was such a queue, else 0; -1 if it is not dropped, because of such follow-ups, or
--       of reports to groups of members that have ended or were refused; -2 if its items are to be purged first
local LONGEST_WAIT = 120000 -- longer than any registration lasts
local meta = redis.call('HMGET', META, 'format', 'incarnation', 'waiting', 'watched', 'members', 'refused')
local refused = refusal(meta[1])
if refused then return refused end
if (meta[2] or '') ~= ARGV[1] then
  touch()
  return 0
end
if ARGV[3] ~= '1' and meta[5] and redis.call('EXISTS', ITEMS) == 1 then
  touch()
  return -2
end
if (ARGV[2] ~= '1' or meta[5] or meta[6]) and what_is_left() > 0 then
  touch()
  return -1
end
local existed = ARGV[1] ~= '' or redis.call('EXISTS', ITEMS) == 1

redis.call('UNLINK', META, ITEMS, IDS, DETAILS, ENDED, RESULTS, UNIQUES, TIMERS, EXPIRIES, MARKS, PLACES, LINES, OPEN,
  KEY_LIMITS, SCHEDULES, TICKS, FOLLOW_UPS, DEFERRED, HISTORY, OUTBOX, OUTGOING, EVENTS, METERS,
  GROUPS, MEMBERS, SUCCESSORS, unpack(SETS))
redis.call('UNLINK', unpack(KEYS, READY, READY + 9))
-- What other queues have sent must not be added again when they repeat it.
redis.call('PEXPIRE', FORWARD_LANES, 30 * DAY)
-- Retries of earlier operations still get their answers. Waiting clients go on waiting, and are notified when
-- the queue is made again.
redis.call('PEXPIRE', LANES, DAY)
for i, list in ipairs({ WAKE, DUE }) do
  local promise = meta[2 + i]
  if (tonumber(promise) or 0) > now then
    redis.call('HSET', META, i == 1 and 'waiting' or 'watched', promise)
    redis.call('PEXPIRE', META, DAY)
    redis.call('PEXPIRE', list, DAY)
  else
    redis.call('UNLINK', list)
  end
end
-- Whoever waits for the end of an item goes on waiting for the next one, or finds none.
if redis.call('EXISTS', AWAITED) == 1 then
  redis.call('HSET', META, 'awaited', 1)
  redis.call('PEXPIRE', META, DAY)
  redis.call('PEXPIRE', AWAITED, LONGEST_WAIT)
end
redis.call('PEXPIRE', ENDINGS, LONGEST_WAIT)
if not existed then touch() end
return existed and 1 or 0
