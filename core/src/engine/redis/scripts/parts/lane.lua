-- A lost reply is not a lost answer. A lane has one operation in flight; LANES keeps the number,
-- the time and the answer of its last one. The same number again is a retry and gets that answer.
-- ARGV[1] lane, ARGV[2] number of the operation on that lane
local fresh_lane = false
local LANE, HOUR = '^(%d+) (%d+)~?(%d*) (.*)$', 3600000

-- Answer of this operation if it was executed before, and when; an error if it was superseded.
local function load_reply()
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
    return redis.error_reply('SUPERSEDED a later operation of this lane was executed before')
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

-- `names`: what the answer ends with, a list, to be put together with spaces between. That is done here, in
-- one go with what goes before: Lua reads every byte of every new string, to tell it from those it has.
local function save_reply(answer, names)
  local kept = ARGV[2] .. ' ' .. text(now)
  if answer then kept = kept .. ' ' .. answer end
  if names then
    names[0] = kept
    kept = names[1] and table.concat(names, ' ', 0) or kept .. ' '
  end
  redis.call('HSET', LANES, ARGV[1], kept)
  if not fresh_lane then return end
  if not redis.call('HGET', META, 'format') then redis.call('PEXPIRE', LANES, DAY) end
  -- So that idle lanes cannot pile up, each new one looks at three others.
  local sample = redis.call('HRANDFIELD', LANES, 3, 'WITHVALUES')
  for i = 1, #sample, 2 do is_idle(sample[i], sample[i + 1], true) end
end
