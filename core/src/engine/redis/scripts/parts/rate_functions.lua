local function rate_functions() return rates end
