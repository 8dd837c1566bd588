-- The stored id of the item that has packed items (see parts/unpack_items.lua), and where the first one begins.
local function owner_of_packed(packed)
  local length = struct.unpack('>I2', packed)
  return string.sub(packed, 3, 2 + length), 3 + length
end
