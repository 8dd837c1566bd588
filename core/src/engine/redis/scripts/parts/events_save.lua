local save_alone = save_reply
local function save_reply(answer, names)
  close_events()
  save_alone(answer, names)
end
