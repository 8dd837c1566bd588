-- The beginning of release.lua: what it reads.
local done = load_reply()
if done then return done end
local refused = refusal(redis.call('HGET', META, 'format'))
if refused then return refused end

local leases, deadlines, details = read_current(4)
