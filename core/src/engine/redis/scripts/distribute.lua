-- Adds the follow-ups of the first notes of DEFERRED, and puts those for other queues into the outbox, in one bounded step.
-- KEYS  see parts/keys.lua
-- ARGV  [1] salt
-- Reply see parts/what_is_left.lua; 4 more: the first note is for cancel_members.lua
return finish()
