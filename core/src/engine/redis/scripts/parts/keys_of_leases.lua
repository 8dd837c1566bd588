-- The keys of items that the caller names by number only, by index; nil if no item of the queue has a place. `details`:
-- those of the items; `deadlines`: false for items that are not meant. Records that are large are not read: details have
-- their keys.
local function keys_of_leases(numbers, details, deadlines)
  if #numbers == 0 or redis.call('EXISTS', PLACES) == 0 then return nil end
  local small, places, keys = {}, {}, {}
  for i, number in ipairs(numbers) do
    local packed = details[i]
    if not deadlines or deadlines[i] then
      -- The third character begins the size: 0 unless the record is large. Damaged details say nothing.
      local x = packed and string.byte(packed, 3) ~= 48 and unpack_details(packed)
      if x and not x.unreadable then
        keys[i] = x.sections.K
      else
        small[#small + 1], places[#places + 1] = number, i
      end
    end
  end
  local records = #small > 0 and redis.call('HMGET', ITEMS, unpack(small)) or {}
  for n, key in pairs(find_keys(records, #small) or {}) do keys[places[n]] = key end
  return keys
end
