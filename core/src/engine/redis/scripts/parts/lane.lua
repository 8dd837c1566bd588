-- A lost reply is not a lost answer. A lane has one operation in flight; LANES keeps the number,
-- the time and the answer of its last one. The same number again is a retry and gets that answer.
-- ARGV[1] lane, ARGV[2] number of the operation on that lane
local fresh_lane = false

-- Answer of this operation if it was executed before, and when; an error if it was overtaken.
local function recall()
  local last = redis.call('HGET', LANES, ARGV[1])
  if not last then
    fresh_lane = true
    return nil
  end
  local number, at, answer = string.match(last, '^(%d+) (%d+) (.*)$')
  if number == ARGV[2] then return answer, tonumber(at) end
  if tonumber(number) > tonumber(ARGV[2]) then
    return redis.error_reply('OVERTAKEN a later operation of this lane was executed before')
  end
end

local function remember(answer)
  redis.call('HSET', LANES, ARGV[1], ARGV[2] .. ' ' .. text(now) .. ' ' .. answer)
  if not fresh_lane then return end
  -- Clients that died leave their lanes behind. Each new lane looks at three others and drops those
  -- idle for an hour, far longer than any client retries, so that they cannot pile up.
  local sample = redis.call('HRANDFIELD', LANES, 3, 'WITHVALUES')
  for i = 2, #sample, 2 do
    local at = tonumber(string.match(sample[i], '^%d+ (%d+)'))
    if at and now - at > 3600000 then redis.call('HDEL', LANES, sample[i - 1]) end
  end
end
