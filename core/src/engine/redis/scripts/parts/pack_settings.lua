-- The settings as META has them: always in the same order.
local function pack_settings(settings)
  local packed = {}
  for _, name in ipairs({ 'max_attempts', 'retain', 'max_dead', 'max_retained', 'max_dead_age', 'max_retained_age' }) do
    if settings[name] then packed[#packed + 1] = name .. '=' .. text(settings[name]) end
  end
  return table.concat(packed, ' ')
end

-- What a client learns of the settings: revision, when a pause ends (0: leasing goes on; -1: only `resume` ends it) and
-- the settings, with spaces between. Arguments: fields of META, the first two as numbers or nil.
local function show_settings(revision, paused, packed)
  local pause = pause_end(paused)
  local shown = text(revision or 0) .. ' ' .. (pause == math.huge and '-1' or text(pause or 0))
  return packed == '' and shown or shown .. ' ' .. packed
end
