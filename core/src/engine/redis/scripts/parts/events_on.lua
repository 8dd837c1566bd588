-- Whether the queue keeps its changes: false, or what the step knows of them, with `most`. It is looked up once.
local event_step
local function has_events()
  if event_step == nil then
    local most = read_settings().events
    event_step = most and { most = most } or false
  end
  return event_step
end
