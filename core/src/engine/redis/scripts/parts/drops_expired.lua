-- `drop_expired`, if items of this queue expire at all.
local function drops_expired() return redis.call('EXISTS', EXPIRIES) == 1 and drop_expired end
