-- Compares the counts of tombstones with the ready lists (those of up to 1,000 entries; longer ones
-- only roughly), and the format number.
-- KEYS  see parts/keys.lua, all
-- ARGV  [1] 1 to mend, 0 to look
-- Reply what was wrong
local wrong = {}
local function expect(field, is, should)
  if is == should then return end
  wrong[#wrong + 1] = field .. ' is ' .. tostring(is) .. ', not ' .. tostring(should)
  if ARGV[1] == '1' then redis.call('HSET', META, field, should) end
end

for p = 0, 9 do
  local key, gone = KEYS[READY + p], tonumber(redis.call('HGET', META, 'gone:' .. p)) or 0
  local length = redis.call('LLEN', key)
  if length <= 1000 then
    local tombstones = 0
    for _, number in ipairs(redis.call('LRANGE', key, 0, -1)) do
      if redis.call('HEXISTS', ITEMS, number) == 0 then tombstones = tombstones + 1 end
    end
    expect('gone:' .. p, gone, tombstones)
  else
    expect('gone:' .. p, gone, math.min(math.max(gone, 0), length))
  end
end
if redis.call('HLEN', ITEMS) > 0 and not redis.call('HGET', META, 'format') then expect('format', nil, 1) end
return wrong
