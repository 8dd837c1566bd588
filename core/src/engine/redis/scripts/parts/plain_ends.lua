-- What the end of a lease may end besides the lease: nothing in a plain queue. See parts/ends.lua.
local ends = nil
