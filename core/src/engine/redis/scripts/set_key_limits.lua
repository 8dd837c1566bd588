-- Sets limits of single keys. Makes the queue if there is none.
-- KEYS  see parts/keys.lua
-- ARGV  [1] lane, [2] number, [3] salt of the incarnation, then for each key: the key, its limit (0: that of the queue).
--       The last one counts if a key is named twice.
-- Reply 1, or `n` if the queue is new
local done = load_reply()
if done then return done end
local meta = redis.call('HMGET', META, 'format', 'waiting')
local refused = refusal(meta[1])
if refused then return refused end
local named, limits, changed, gone, flagged = {}, {}, {}, {}, {}
for i = 4, #ARGV, 2 do
  local key = ARGV[i]
  if not limits[key] then named[#named + 1] = key end
  limits[key] = ARGV[i + 1]
end
for _, key in ipairs(named) do
  if limits[key] == '0' then
    gone[#gone + 1] = key
  else
    changed[#changed + 1] = key
    changed[#changed + 1] = limits[key]
  end
end
local answer = '1'
if not meta[1] and #changed > 0 then
  answer = 'n'
  make_empty_queue(ARGV[3])
end
if #changed > 0 then
  make_extended(meta[1])
  redis.call('HSET', KEY_LIMITS, unpack(changed))
end
if #gone > 0 then redis.call('HDEL', KEY_LIMITS, unpack(gone)) end
-- Their lines may move.
local places = #named > 0 and redis.call('EXISTS', PLACES) == 1 and read_places(named) or {}
for key, place in pairs(places) do
  if place.flag then flagged[#flagged + 1] = key end
end
open_keys(flagged, places)
if key_step.opened then notify_workers(meta[2], now) end
save_reply(answer)
return answer
