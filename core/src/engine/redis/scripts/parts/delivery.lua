-- The delivery of the item's current or next lease, as text.
local function delivery_of(packed)
  return packed and string.match(packed, '^%d:%d+:%d+:%d+:%d+:(%d+)') or '0'
end
