-- Reads entries of workers that are alive, in the order of their names.
-- KEYS  see parts/keys_of_workers.lua
-- ARGV  [1] the entry to read on after ('': from the first), [2] only those of this name ('': all), [3] how many to look at
-- Reply [1] the entry to read on after ('': there are no more), then for each worker: entry, server time at which it
--       expires, body, 1 if it is quiet or 0, how many commands it has, and for each number and text. As many as fit into
--       a reply, at least one
local first, last = '-', '+'
if ARGV[2] ~= '' then first, last = '[' .. ARGV[2] .. '\0', '(' .. ARGV[2] .. '\1' end
if ARGV[1] ~= '' then first = '(' .. ARGV[1] end
local entries = redis.call('ZRANGE', NAMES, first, last, 'BYLEX', 'LIMIT', 0, ARGV[3])
local reply, room = { '' }, MAX_REPLY
if not entries[1] then return reply end
local names = {}
for i, entry in ipairs(entries) do names[i] = string.match(entry, '^[^%z]*') end
local expires, quiet = redis.call('ZMSCORE', BEATS, unpack(entries)), redis.call('HMGET', QUIET, unpack(names))
for i, entry in ipairs(entries) do
  local at = tonumber(expires[i]) or 0
  if at > now then
    room = room - redis.call('HSTRLEN', BODIES, entry) - redis.call('HSTRLEN', COMMANDS, entry)
    if room < 0 and #reply > 1 then
      reply[1] = entries[i - 1]
      return reply
    end
    local commands = unpack_commands(redis.call('HGET', COMMANDS, entry))
    local body = redis.call('HGET', BODIES, entry) or ''
    for _, value in ipairs({ entry, text(at), body, quiet[i] and 1 or 0, #commands }) do reply[#reply + 1] = value end
    for _, command in ipairs(commands) do
      reply[#reply + 1] = text(command.number)
      reply[#reply + 1] = command.text
    end
  end
end
if #entries == tonumber(ARGV[3]) then reply[1] = entries[#entries] end
return reply
