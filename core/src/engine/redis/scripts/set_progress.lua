-- Stores how far the holders of leases have come, with the details of their items.
-- KEYS  see parts/keys.lua
-- ARGV  [1] lane, [2] number, then per lease: number, delivery, progress
-- Reply a string: for each lease 1 (stored) or 0 (lost)
local done = load_reply()
if done then return done end
local refused = refusal(redis.call('HGET', META, 'format'))
if refused then return refused end

-- One batch may have a lease twice: the last one counts.
local numbers, deadlines, details = read_current(3, true)
local answers, changed = {}, {}
for i, number in ipairs(numbers) do
  answers[i] = deadlines[i] and '1' or '0'
  if deadlines[i] then
    local x = unpack_details(details[i])
    x.sections.P = ARGV[2 + 3 * i]
    changed[#changed + 1] = number
    changed[#changed + 1] = pack_details(x)
  end
end
if #changed > 0 then redis.call('HSET', DETAILS, unpack(changed)) end
local answer = table.concat(answers)
save_reply(answer)
return answer
