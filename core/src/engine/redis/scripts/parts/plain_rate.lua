-- A plain queue has no settings, and so no rate. See parts/rate_turns.lua.
local use_settings, rates = nil, nil
