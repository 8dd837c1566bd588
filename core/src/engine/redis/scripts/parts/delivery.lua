-- The delivery that the next or the current lease of the item has, as text.
local function delivery_of(packed)
  return packed and string.match(packed, '^%d:%d+:%d+:%d+:%d+:(%d+)') or '0'
end
