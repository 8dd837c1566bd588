-- The server's clock in milliseconds, read once: on Redis 7.0 it goes on while a script runs.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local YEAR_2026 = 1767225600000

-- Formats a number for a command. Redis takes three times as long to format a Lua number, and `tostring`
-- loses digits after the 14th.
local function text(number) return string.format('%d', number) end
