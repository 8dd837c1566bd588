-- `event_by` in META is there while a script runs that writes events: the first and the last number of those, the server
-- time, and lane and number of the operation. One that is left is of a script that has stopped half-way, and it is not known
-- which of these changes it has made. `event_torn` has the last such marks. After a minute they count no more.
local MAX_TORN, TORN_LASTS = 8, 60000

-- The marks that count, of those with `,` between.
local function read_marks(packed)
  local marks = {}
  for one in string.gmatch(packed or '', '[^,]+') do
    local first, last, at, by = string.match(one, '^(%d+) (%d+) (%d+) (.*)$')
    if first and math.abs(now - at) <= TORN_LASTS then
      marks[#marks + 1] = { first = tonumber(first), last = tonumber(last), by = by, packed = one }
    end
  end
  return marks
end

local function pack_marks(marks)
  local packed = {}
  for i = math.max(1, #marks - MAX_TORN + 1), #marks do packed[#packed + 1] = marks[i].packed end
  return table.concat(packed, ',')
end
