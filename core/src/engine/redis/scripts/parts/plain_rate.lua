-- A plain queue has no rate. See parts/rate_turns.lua.
local rates = nil
