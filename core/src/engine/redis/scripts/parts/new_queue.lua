-- Makes a queue that has no item yet. `salt`: of its incarnation.
local function make_empty_queue(salt)
  local last = redis.call('HGET', META, 'last')
  last = math.max(last and count_of(last) or 0, (now - YEAR_2026) * 256)
  local number = in_base_36(last + 1) .. salt
  redis.call('HSET', META, 'last', number)
  make_queue(number)
end
