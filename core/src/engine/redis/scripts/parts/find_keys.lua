-- The keys of items, by the index of their records; nil if none has one.
local function find_keys(records, count)
  local keys
  for i = 1, count do
    local record = records[i]
    -- KEYED of parts/record.lua is in the first byte.
    if record and (string.byte(record) or 0) % 64 >= 32 and #record > 2 then
      local word = struct.unpack('>I2', record)
      local at = 3 + word % 4096 + (word >= 32768 and 6 or 0)
      local last = at + (string.byte(record, at) or 0)
      if last > at and last <= #record then
        keys = keys or {}
        keys[i] = string.sub(record, at + 1, last)
      end
    end
  end
  return keys
end
