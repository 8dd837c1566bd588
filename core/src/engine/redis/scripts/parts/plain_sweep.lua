-- Nothing in a plain queue has a time after which it is deleted.
local function sweep() return false, 0 end
