-- The settings as META has them: always in the same order.
local function pack_settings(settings)
  local packed = {}
  for _, name in ipairs({ 'max_attempts', 'retain', 'max_dead', 'max_retained', 'max_dead_age', 'max_retained_age', 'rate',
    'rate_period', 'rate_burst', 'key_limit', 'events', 'key_rate', 'key_rate_period', 'key_rate_burst' }) do
    if settings[name] then packed[#packed + 1] = name .. '=' .. text(settings[name]) end
  end
  return table.concat(packed, ' ')
end

-- What a client learns of the settings: revision, when a pause ends (0: leasing goes on; -1: only `resume` ends it), when
-- the rate allows the next lease (0: now) and the settings, with spaces between; and while it is paused, after a line feed, the
-- note of the pause. Arguments: fields of META, the first as a number or nil, and the settings.
local function show_settings(revision, paused, note, rate_used, settings)
  local pause, meter, packed = pause_end(paused), read_meter(settings, rate_used), pack_settings(settings)
  local shown = text(revision or 0) .. ' ' .. (pause == math.huge and '-1' or text(pause or 0)) .. ' '
    .. text(meter and opens_at(meter) or 0)
  if packed ~= '' then shown = shown .. ' ' .. packed end
  return pause and note and shown .. '\n' .. note or shown
end
