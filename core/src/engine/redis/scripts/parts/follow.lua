-- Lets the successors of those of these items follow whose leases have ended. It comes behind all that ends them.
-- `moved`: the numbers that some have by now, nil if none has another one. True: some of them have been followed.
local function follow(numbers, moved)
  return #numbers > 0 and redis.call('EXISTS', SUCCESSORS) == 1 and succeed(numbers, moved or {})
end
