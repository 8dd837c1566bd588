-- The storage formats: of plain queues, and of extended ones, which use more.
local PLAIN, EXTENDED = '2', '2+1'

-- The states that are kept in sorted sets. An item that is in none of them is ready.
local SETS = { LEASED, DELAYED, DEAD }

-- The error for a queue that this script cannot change, by the `format` in META; nil if it can. After `EXTENDED`
-- the client sends the extended variant of the script.
local function refusal(format)
  if format == PLAIN or not format then return nil end
  return redis.error_reply((format == EXTENDED and 'EXTENDED ' or 'FORMAT ') .. format)
end

-- What the death of items ends: nothing in a plain queue.
local function items_died() end

-- Nothing in a plain queue has a time after which it is deleted.
local function sweep() return false end
