-- The head of a record; '' if it cannot be read.
local function head_of(record)
  local id, _, _, data_at = read_head(record)
  return id and string.sub(record, 1, data_at - 1) or ''
end
