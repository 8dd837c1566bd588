-- The last order that was given to an item which is held, or has come back to the front. The next ones are greater; they
-- follow the clock as the counts of numbers do. `holds`: the field of META.
local function last_order(holds) return math.max(tonumber(holds or nil) or 0, (now - YEAR_2026) * 256) end
