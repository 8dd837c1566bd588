-- Extends leases: the deadline becomes the later of the old one and now + duration.
-- KEYS  see parts/keys.lua
-- ARGV  [1] lane, [2] number, then per lease: number, delivery, duration in ms
-- Reply a string: for each lease its deadline, or - if it is lost, with spaces between
local done = load_reply()
if done then return done end
local refused = refusal(redis.call('HGET', META, 'format'))
if refused then return refused end

-- One batch may have a lease twice: from the background extension and from its holder.
local numbers, deadlines = read_current(3, true)
local answers, scores, latest = {}, {}, {}
for i, number in ipairs(numbers) do
  if deadlines[i] then
    local deadline = math.max(latest[number] or tonumber(deadlines[i]), now + ARGV[2 + 3 * i])
    latest[number] = deadline
    answers[i] = text(deadline)
    scores[#scores + 1] = answers[i]
    scores[#scores + 1] = number
  else
    answers[i] = '-'
  end
end
if #scores > 0 then redis.call('ZADD', LEASED, 'XX', unpack(scores)) end
local answer = table.concat(answers, ' ')
save_reply(answer)
return answer
