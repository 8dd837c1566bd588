-- When a pause ends, by `paused` in META: nil if leasing goes on, `math.huge` if only `resume` ends it.
local function pause_end(paused)
  local at = tonumber(paused)
  if at == 1 then return math.huge end
  return at and at > now and at or nil
end
