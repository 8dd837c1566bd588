-- A lost reply is not a lost answer. A lane has one operation in flight; LANES keeps the number,
-- the time and the answer of its last one. The same number again is a retry and gets that answer.
-- ARGV[1] lane, ARGV[2] number of the operation on that lane
local fresh_lane = false
local LANE, HOUR = '^(%d+) (%d+)~?(%d*) (.*)$', 3600000

-- Answer of this operation if it was executed before, and when; an error if it was overtaken.
local function recall()
  local last = redis.call('HGET', LANES, ARGV[1])
  if not last then
    fresh_lane = true
    return nil
  end
  local number = string.match(last, '^%d+')
  if number == ARGV[2] then
    local _, at, _, answer = string.match(last, LANE)
    return answer, tonumber(at)
  end
  if tonumber(number) > tonumber(ARGV[2]) then
    return redis.error_reply('OVERTAKEN a later operation of this lane was executed before')
  end
end

-- Whether a lane, with what LANES has of it, is idle, as those are that clients leave behind who die: for
-- an hour, far longer than any client retries. But the clock may have been set ahead while a retry is on
-- its way. So an idle lane is marked, with the time, and dropped if that is an hour ago and it was not
-- used since.
local function is_idle(lane, last, mend)
  local number, at, marked, answer = string.match(last, LANE)
  if number and now - at <= HOUR then return false end
  if mend and number and marked == '' then
    redis.call('HSET', LANES, lane, number .. ' ' .. at .. '~' .. text(now) .. ' ' .. answer)
  elseif mend and not (number and now - marked <= HOUR) then
    redis.call('HDEL', LANES, lane)
  end
  return true
end

local function remember(answer)
  redis.call('HSET', LANES, ARGV[1], ARGV[2] .. ' ' .. text(now) .. ' ' .. answer)
  if not fresh_lane then return end
  -- So that idle lanes cannot pile up, each new one looks at three others.
  local sample = redis.call('HRANDFIELD', LANES, 3, 'WITHVALUES')
  for i = 1, #sample, 2 do is_idle(sample[i], sample[i + 1], true) end
end
