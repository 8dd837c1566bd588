-- Adds the follow-ups of the first notes of DEFERRED, in one bounded step.
-- KEYS  see parts/keys.lua, all
-- ARGV  [1] salt
-- Reply 1 if notes are left, else 0
if note_count > 0 then drop_notes() end
forget()
return redis.call('EXISTS', DEFERRED)
