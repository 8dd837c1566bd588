-- The storage format of plain queues.
local PLAIN = '2'

-- The error for a queue that this script cannot change, by the `format` in META; nil if it can. After `EXTENDED`
-- the client sends the extended variant of the script.
local function refusal(format)
  if format == '2' or not format then return nil end
  return redis.error_reply((format == '2+1' and 'EXTENDED ' or 'FORMAT ') .. format)
end
