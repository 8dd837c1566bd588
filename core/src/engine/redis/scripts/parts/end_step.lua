-- What this script has done about follow-ups: `deferred` is `o` if DEFERRED has got notes, which the client lets
-- distribute.lua process. It is appended to the answer.
local end_step = { deferred = '' }
