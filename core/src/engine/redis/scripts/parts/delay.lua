-- The delay (ms) of an item that is added or revised. An argument above 366 days is the server time at which the item
-- is due, or 366 days ahead if that time is further.
local function delay_of(argument)
  local LONGEST_DELAY = 31622400000
  if argument <= LONGEST_DELAY then return argument end
  return math.max(0, math.min(LONGEST_DELAY, argument - now))
end
