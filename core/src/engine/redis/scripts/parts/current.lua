-- Finds out which leases are current: the item is leased, and its delivery is the caller's. Each lease has
-- `arity` arguments from ARGV[3] on, the first two are number and delivery. Returns the numbers, their
-- deadlines (false if the lease is lost) and their details, in the order of the arguments. A lease can
-- end only once: if a batch names it again, it is lost the second time, unless `repeatable`.
local function read_current(arity, repeatable)
  local numbers = {}
  for i = 3, #ARGV, arity do numbers[#numbers + 1] = ARGV[i] end
  local deadlines = redis.call('ZMSCORE', LEASED, unpack(numbers))
  local details = redis.call('EXISTS', DETAILS) == 1 and redis.call('HMGET', DETAILS, unpack(numbers)) or {}
  local seen = {}
  for i, number in ipairs(numbers) do
    if seen[number] or delivery_of(details[i]) ~= ARGV[4 + (i - 1) * arity] then deadlines[i] = false end
    if deadlines[i] and not repeatable then seen[number] = true end
  end
  return numbers, deadlines, details
end
