-- Gives a worker a command. A repetition with the same number changes nothing.
-- KEYS  see parts/keys_of_workers.lua
-- ARGV  [1] entry, [2] number of the command, [3] its text, [4] for how long (ms) it lasts, [5] how many commands a worker
--       may have
-- Reply 1, 0 (there is no such worker), or -1 (it has as many commands as it may have)
if (tonumber(redis.call('ZSCORE', BEATS, ARGV[1])) or 0) <= now then return 0 end
local commands = unpack_commands(redis.call('HGET', COMMANDS, ARGV[1]))
for _, command in ipairs(commands) do
  if text(command.number) == ARGV[2] then return 1 end
end
if #commands >= tonumber(ARGV[5]) then return -1 end
commands[#commands + 1] = { number = tonumber(ARGV[2]), expires = now + ARGV[4], text = ARGV[3] }
redis.call('HSET', COMMANDS, ARGV[1], pack_commands(commands))
return 1
