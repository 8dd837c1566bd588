-- In a plain queue nothing has a time after which it is deleted, and no item expires.
local sweep_if_due, drops_expired = nil, nil
