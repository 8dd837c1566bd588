-- What this script has done about follow-ups: `deferred` is `o` if DEFERRED has got notes, which the client lets
-- distribute.lua process. It is appended to the answer.
local end_step = { deferred = '' }

-- Notes of parts/fire.lua, in their order.
local function write_notes(notes)
  if #notes == 0 then return end
  redis.call('RPUSH', DEFERRED, unpack(notes))
  end_step.deferred = 'o'
end
