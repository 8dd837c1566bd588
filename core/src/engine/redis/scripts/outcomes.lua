-- Reads how items have ended.
-- KEYS  see parts/keys.lua
-- ARGV  [1] the ids (at most 1,000)
-- Reply see parts/outcomes.lua
return outcomes_reply(read_outcomes(1))
