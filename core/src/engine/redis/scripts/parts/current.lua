-- Which of these leases are current: the item is leased, by the delivery that the caller holds.
-- `arity` arguments a lease from ARGV[3] on, the first two its number and its delivery. Returns,
-- in the order of the arguments, the deadline (false if the lease is lost), and the extra of each.
-- What ends a lease ends it once: the second mention in a batch is lost, unless `repeatable`.
local function read_current(arity, repeatable)
  local numbers = {}
  for i = 3, #ARGV, arity do numbers[#numbers + 1] = ARGV[i] end
  local deadlines = redis.call('ZMSCORE', LEASED, unpack(numbers))
  local extras = redis.call('EXISTS', EXTRA) == 1 and redis.call('HMGET', EXTRA, unpack(numbers)) or {}
  local seen = {}
  for i, number in ipairs(numbers) do
    if seen[number] or delivery_of(extras[i]) ~= ARGV[4 + (i - 1) * arity] then deadlines[i] = false end
    if deadlines[i] and not repeatable then seen[number] = true end
  end
  return numbers, deadlines, extras
end
