-- What this script has done for keys: `opened`: it has opened some; `none_open`: none is open; `looked`: keys whose
-- places it has compared with LEASED; `rounds` and `keys`: how often, and at how many open keys it has looked;
-- `own_limits`: whether keys
-- have some; `keyed`: whether an item with a key was ever added.
local key_step = { opened = false, none_open = false, looked = {}, rounds = 0, keys = 0, own_limits = nil,
  keyed = nil }

-- OPEN: keys by `(9 - priority) * LEVEL + time`, so that those come first whose lines have the highest priority, and
-- then those that were opened first.
local LEVEL = 4398046511104 -- 2^42
