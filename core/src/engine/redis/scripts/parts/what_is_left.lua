-- What clients are to do for this queue: 1 if there are notes to distribute, and 2 if the outbox has entries. distribute.lua adds
-- 4 if the first note is for cancel_members.lua.
local function what_is_left()
  return redis.call('EXISTS', DEFERRED) + 2 * redis.call('EXISTS', OUTBOX)
end
