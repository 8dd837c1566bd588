-- Writes the rows of the minute and the hour, unless they are there, and adds measurements to them.
-- KEYS  see parts/keys.lua
-- ARGV  [1] lane, [2] number, [3] measurements: histograms with `;` between, each as `value:count` with spaces between; '':
--       nothing, then for each kind of row: letter, ms, how many there are
-- Reply 1, or 0 if there is no queue
local done = load_reply()
if done then return tonumber(done) end
local meta = redis.call('HMGET', META, 'format', 'added', 'leased', 'completed', 'expired', 'failed', 'died', 'removed',
  'replaced', 'expired_unleased', 'cancelled', 'gone:0', 'gone:1', 'gone:2', 'gone:3', 'gone:4', 'gone:5', 'gone:6',
  'gone:7', 'gone:8', 'gone:9')
local refused = refusal(meta[1])
if refused then return refused end

local function parse(histogram)
  local counts = {}
  for value, count in string.gmatch(histogram, '(%d+):(%d+)') do counts[value] = (counts[value] or 0) + count end
  return counts
end

local function merge(stored, measured)
  local merged, next_new = {}, string.gmatch(measured .. ';', '([^;]*);')
  for old in string.gmatch(stored .. ';', '([^;]*);') do
    local counts, list = parse(old), {}
    for value, count in pairs(parse(next_new() or '')) do counts[value] = (counts[value] or 0) + count end
    for value, count in pairs(counts) do list[#list + 1] = value .. ':' .. text(count) end
    merged[#merged + 1] = table.concat(list, ' ')
  end
  return table.concat(merged, ';')
end

-- The numbers of a row, see `engine/history.rs`.
local function snapshot()
  local numbers, ready = { text(now) }, 0
  for i = 2, 11 do numbers[i] = meta[i] or '0' end
  for p = 0, 9 do ready = ready + math.max(0, redis.call('LLEN', KEYS[READY + p]) - (tonumber(meta[12 + p]) or 0)) end
  numbers[12] = text(ready)
  for i, set in ipairs({ DELAYED, LEASED, DEAD, HELD }) do numbers[12 + i] = text(redis.call('ZCARD', set)) end
  return table.concat(numbers, ' ')
end

if not meta[1] then return 0 end
for i = 4, #ARGV, 3 do
  local letter, lasts, count = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  local index = math.floor(now / lasts)
  local row, measurements = letter .. index % count, letter .. index % count .. '+'
  local at = string.match(redis.call('HGET', HISTORY, row) or '', '^%d+')
  if not at or math.floor(at / lasts) ~= index then
    local numbers = snapshot()
    at = string.match(numbers, '^%d+')
    redis.call('HSET', HISTORY, row, numbers)
  end
  if ARGV[3] ~= '' then
    local time, stored = string.match(redis.call('HGET', HISTORY, measurements) or '', '^(%d+) (.*)')
    redis.call('HSET', HISTORY, measurements, at .. ' ' .. merge(time == at and stored or ';;', ARGV[3]))
  end
end
save_reply('1')
return 1
