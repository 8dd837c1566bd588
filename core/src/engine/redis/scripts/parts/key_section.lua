-- The sections of the details of an item with a large record that has a key, a unique key or follow-ups: no script reads the
-- record for them.
local function key_section(record)
  local keys = find_keys({ record }, 1)
  local id, _, unique, _, _, name = read_head(record)
  return (keys or unique or name) and { K = keys and keys[1], F = name, I = unique and id }
end
