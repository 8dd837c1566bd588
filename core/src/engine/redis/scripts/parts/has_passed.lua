-- Whether an item with this score in EXPIRIES (or false) has expired, if it is not leased. The score is no whole number
-- if another item has taken its unique key since: then it has expired for good, whatever the clock says.
local function has_passed(score)
  local time = tonumber(score or nil)
  return time and (math.abs(time) <= now or time % 1 ~= 0)
end
