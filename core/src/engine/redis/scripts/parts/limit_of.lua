-- How many places a key has: its own limit (as stored), or else `usual`.
local MAX_LIMIT = 1000
local function limit_of(own, usual)
  own = tonumber(own or nil)
  return own and own >= 1 and own <= MAX_LIMIT and own % 1 == 0 and own or usual
end
