-- A plain queue has no schedules.
local next_tick = nil
