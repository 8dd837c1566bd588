-- Reads which leases are current, and of which of them the cancellation was requested.
-- KEYS  see parts/keys.lua
-- ARGV  per lease: number, delivery (at most 1,000)
-- Reply [1] what changes with each call that requests the cancellation of a leased item; [2] a string: for each lease 0
--       (current), 1 (its cancellation was requested) or - (not current)
local numbers, answers = {}, {}
for i = 1, #ARGV, 2 do numbers[#numbers + 1] = ARGV[i] end
if #numbers > 0 then
  local deadlines, details = redis.call('ZMSCORE', LEASED, unpack(numbers)), redis.call('HMGET', DETAILS, unpack(numbers))
  local marks = redis.call('HMGET', MARKS, unpack(numbers))
  for i in ipairs(numbers) do
    local current = deadlines[i] and delivery_of(details[i]) == ARGV[2 * i]
    answers[i] = not current and '-' or marks[i] and '1' or '0'
  end
end
return { tonumber(redis.call('HGET', META, 'cancels')) or 0, table.concat(answers) }
