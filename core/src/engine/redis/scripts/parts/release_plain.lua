-- No item of a plain queue expires.
local expired, items_expired = {}, nil

