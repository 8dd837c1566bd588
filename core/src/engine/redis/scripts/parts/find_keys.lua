-- The keys of items, by the index of their records; nil if none has one.
local function find_keys(records, count)
  local keys, byte = nil, string.byte
  for i = 1, count do
    local record = records[i]
    -- See parts/record.lua: KEYED is in the first byte.
    local high, low
    if record then high, low = byte(record, 1, 2) end
    if low and high % 64 >= 32 then
      local length = high % 8 * 256 + low
      local at = 3 + length + (high >= 128 and 6 or 0) + (high % 32 >= 16 and NAME or 0)
      if high % 16 >= 8 then -- its trigger
        at = at + 2 + (at < #record and struct.unpack('>I2', record, at) or 0)
        at = at + 4 + (at + 2 < #record and math.max(0, struct.unpack('>I4', record, at) - 1) or 0)
      end
      local last = at + (byte(record, at) or 0)
      local stop = last
      -- An item whose unique key cannot be read is leased to nobody: it must take no place.
      if high % 128 >= 64 then
        local large, small = byte(record, last + 1, last + 2)
        stop = small and last + 2 + large * 256 + small or #record + 1
      end
      if last > at and length > 0 and stop <= #record then
        keys = keys or {}
        keys[i] = string.sub(record, at + 1, last)
      end
    end
  end
  return keys
end
