-- The server's clock in milliseconds, read once: it is not frozen inside a script on Redis 7.0.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- Numbers go to commands as text, made by this or written as such: Redis takes three times as long to
-- format a Lua number, also a small one, and `tostring` of more than 14 digits loses some.
local function text(number) return string.format('%d', number) end
