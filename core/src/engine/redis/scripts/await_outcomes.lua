-- Reads how items have ended, and whether groups have, and registers those that have not: whoever ends one of them reports it in
-- ENDINGS.
-- KEYS  see parts/keys.lua
-- ARGV  [1] for how long (ms) a registration lasts, [2] a string with 1 for each id that is registered even if there is no
--       such item, else 0, [3] the place up to which the client has read ENDINGS, or '', from [4] the ids (at most 1,000),
--       those of groups as in AWAITED
-- Reply see parts/outcomes.lua and parts/group_outcomes.lua, with what XREAD returns behind [3] if one does not exist. Later
--       endings of what was registered have later places.
local format = redis.call('HGET', META, 'format')
local refused = refusal(format)
if refused then return refused end

local MAX_ENTRIES = 10 -- of ENDINGS, each with up to 1,000 ids of 512 bytes
local LONGEST_WAIT = 120000 -- longer than any registration lasts

local letters, texts = read_outcomes(4)
read_group_outcomes(4, letters)
local wanted, vanished = {}, false
for i, letter in ipairs(letters) do
  if letter == 'o' or letter == 'n' and string.byte(ARGV[2], i) == 49 then wanted[#wanted + 1] = ARGV[3 + i] end
  vanished = vanished or letter == 'n'
end
local lapsed = redis.call('ZRANGE', AWAITED, '-inf', now, 'BYSCORE', 'LIMIT', 0, 1000)
if #lapsed > 0 then redis.call('ZREM', AWAITED, unpack(lapsed)) end
if #wanted > 0 then
  local lasts, entries = tonumber(ARGV[1]), {}
  for n, until_time in ipairs(redis.call('ZMSCORE', AWAITED, unpack(wanted))) do
    -- Most checks write nothing. After the clock was set back, a time may be too late.
    local left = until_time and until_time - now
    if not left or left < lasts / 2 or left > LONGEST_WAIT then
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
local read_to, reply = ARGV[3], outcomes_reply(letters, texts)
if vanished and read_to ~= '' and read_to ~= reply[1] then
  reply[4] = redis.call('XREAD', 'COUNT', text(MAX_ENTRIES), 'STREAMS', ENDINGS, read_to)
end
return reply
