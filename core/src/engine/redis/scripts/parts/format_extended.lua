-- The storage formats: of plain queues, and of extended ones, which use more. This part goes into scripts that
-- know both, instead of parts/format.lua.
local PLAIN, EXTENDED = '2', '2+1'

-- The error for a queue that this script cannot change, by the `format` in META; nil if it can.
local function refusal(format)
  if format == PLAIN or format == EXTENDED or not format then return nil end
  return redis.error_reply('FORMAT ' .. format)
end

-- Plain scripts refuse the queue from now on, until it is dropped. Comes before anything that they do not know.
local function make_extended(format)
  if format ~= EXTENDED then redis.call('HSET', META, 'format', EXTENDED) end
end
