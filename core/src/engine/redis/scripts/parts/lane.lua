-- Gives a retry the answer of the first execution. A lane has one operation in flight; LANES keeps the
-- number, the time and the answer of its last one. The same number again is a retry.
-- ARGV  [1] lane, [2] number of the operation on that lane
local fresh_lane = false
local LANE, HOUR = '^(%d+) (%d+)~?(%d*) (.*)$', 3600000

-- Returns the answer of this operation and its time if it was executed before, or an error if it was
-- superseded. The answer is written once more: WAIT covers what its own connection has written, and the
-- first execution may have come over another one.
local function load_reply()
  local last = redis.call('HGET', LANES, ARGV[1])
  if not last then
    fresh_lane = true
    return nil
  end
  local number = string.match(last, '^%d+')
  if number == ARGV[2] then
    local _, at, _, answer = string.match(last, LANE)
    redis.call('HSET', LANES, ARGV[1], last)
    return answer, tonumber(at)
  end
  if tonumber(number) > tonumber(ARGV[2]) then
    return redis.error_reply('SUPERSEDED a later operation of this lane was executed before')
  end
end

-- Whether a lane is idle: unused for an hour, far longer than any client retries. Clients that die leave
-- idle lanes behind. Because the clock may have been set ahead while a retry is on its way, a lane is first
-- marked with the time, and deleted if it was not used for an hour after that. `last`: its entry in LANES.
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

-- Saves the answer for a retry. `names`: a list that is appended to it, with spaces between. It is
-- concatenated here, in one step, because Lua hashes every string that it makes.
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
  -- Each new lane checks three others, so that idle lanes cannot pile up.
  local sample = redis.call('HRANDFIELD', LANES, 3, 'WITHVALUES')
  for i = 1, #sample, 2 do is_idle(sample[i], sample[i + 1], true) end
end
