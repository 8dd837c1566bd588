-- Reads how items have ended, and registers those that have not: whoever ends one of them reports it in ENDINGS.
-- KEYS  see parts/keys.lua, all
-- ARGV  [1] for how long (ms) a registration lasts, [2] a string with 1 for each id that is registered even if there is no
--       such item, else 0, from [3] the ids (at most 1,000)
-- Reply see parts/outcomes.lua. Later endings of the items that were registered have later places.
local format = redis.call('HGET', META, 'format')
local refused = refusal(format)
if refused then return refused end

local letters, texts = read_outcomes(3)
local wanted = {}
for i, letter in ipairs(letters) do
  if letter == 'o' or letter == 'n' and string.byte(ARGV[2], i) == 49 then wanted[#wanted + 1] = ARGV[2 + i] end
end
local lapsed = redis.call('ZRANGE', AWAITED, '-inf', now, 'BYSCORE', 'LIMIT', 0, 1000)
if #lapsed > 0 then redis.call('ZREM', AWAITED, unpack(lapsed)) end
if #wanted > 0 then
  local lasts, entries = tonumber(ARGV[1]), {}
  for n, until_time in ipairs(redis.call('ZMSCORE', AWAITED, unpack(wanted))) do
    -- Most checks write nothing. After the clock was set back, a time may be too late.
    local left = until_time and until_time - now
    if not left or left < lasts / 2 or left > 2 * lasts then
      entries[#entries + 1] = text(now + lasts)
      entries[#entries + 1] = wanted[n]
    end
  end
  -- Plain scripts do not report endings. A queue that does not exist yet is extended from the beginning.
  if format then
    make_extended(format)
  else
    redis.call('HSET', META, 'awaited', 1)
    redis.call('PEXPIRE', META, DAY)
  end
  if #entries > 0 then
    redis.call('ZADD', AWAITED, unpack(entries))
    -- Without a client that waits, nothing is left, and endings cost nothing more.
    if redis.call('PTTL', AWAITED) < lasts then redis.call('PEXPIRE', AWAITED, lasts) end
  end
end
return outcomes_reply(letters, texts)
