-- Writes what a worker says of itself, and reads what it shall do. Deletes entries of workers that are gone.
-- KEYS  see parts/keys_of_workers.lua
-- ARGV  [1] name, [2] entry, [3] body ('': the worker ends), [4] for how long (ms) it counts as alive, [5] for how long (ms)
--       commands last, then the numbers of the commands that the worker has acknowledged
-- Reply [1] 1 if the worker is to be quiet, else 0, then for each command: number, text
local MOST = 20 -- entries to look at in one step
local lives, lasts = tonumber(ARGV[4]), tonumber(ARGV[5])
local entry = ARGV[2]

local packed = redis.call('HGET', COMMANDS, entry)
local commands = {}
if packed then
  local acknowledged = {}
  for i = 6, #ARGV do acknowledged[ARGV[i]] = true end
  for _, command in ipairs(unpack_commands(packed)) do
    if not acknowledged[text(command.number)] then commands[#commands + 1] = command end
  end
  local rest = pack_commands(commands)
  if rest == '' or ARGV[3] == '' then
    redis.call('HDEL', COMMANDS, entry)
  elseif rest ~= packed then
    redis.call('HSET', COMMANDS, entry, rest)
  end
end

-- The clock was set back: what seems to have beaten in the future would never expire.
for _, early in ipairs(redis.call('ZRANGE', BEATS, '(' .. text(now + lives), '+inf', 'BYSCORE', 'LIMIT', 0, MOST)) do
  redis.call('ZADD', BEATS, text(now + lives), early)
end
-- An entry is kept for as long as it may have a command.
local gone = redis.call('ZRANGE', BEATS, '-inf', text(now - lasts), 'BYSCORE', 'LIMIT', 0, MOST)
if ARGV[3] == '' then gone[#gone + 1] = entry end
if gone[1] then
  redis.call('HDEL', BODIES, unpack(gone))
  redis.call('HDEL', COMMANDS, unpack(gone))
  redis.call('ZREM', NAMES, unpack(gone))
  redis.call('ZREM', BEATS, unpack(gone))
end
if ARGV[3] ~= '' then
  -- First and, above, last the sorted set by which entries are found that are gone: a script that stops between leaves
  -- nothing that nobody deletes.
  redis.call('ZADD', BEATS, text(now + lives), entry)
  redis.call('HSET', BODIES, entry, ARGV[3])
  redis.call('ZADD', NAMES, 0, entry)
  -- When nobody beats any more, nobody deletes the last entries.
  for _, key in ipairs({ NAMES, BEATS, BODIES, COMMANDS }) do redis.call('PEXPIRE', key, DAY) end
end

local reply = { redis.call('HEXISTS', QUIET, ARGV[1]) }
for _, command in ipairs(commands) do
  reply[#reply + 1] = text(command.number)
  reply[#reply + 1] = command.text
end
return reply
