-- What a counted attempt, and perhaps the death, of items ends: nothing in a plain queue.
local function attempts_counted() end

-- Nothing in a plain queue has a time after which it is deleted.
local function sweep() return false end
