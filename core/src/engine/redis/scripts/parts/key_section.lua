-- The section of the details of an item with a large record that has a key: no script reads the record for it.
local function key_section(record)
  local keys = find_keys({ record }, 1)
  return keys and { K = keys[1] }
end
