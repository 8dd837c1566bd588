-- Takes over the settings, and whether follow-ups were attached, as stored, and makes what their rate needs, if they have one.
local rates
local function use_settings(stored, attached)
  stored_settings = { stored, attached }
  if read_settings().rate then rates = rate_functions() end
end
