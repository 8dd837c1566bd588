-- Changes settings of the queue, and leaves the others. Makes the queue if there is none.
-- KEYS  see parts/keys.lua, up to META
-- ARGV  [1] lane, [2] number, [3] salt of the incarnation, [4] the revision that must be stored ('': any), then for each
--       setting: its name and value (0: it is not set any more)
-- Reply a string: 0 (refused: another revision is stored), or 1, or `n` if the queue is new, and after a space what
--       parts/pack_settings.lua shows
local done = load_reply()
if done then return done end

local meta = redis.call('HMGET', META, 'format', 'revision', 'paused', 'settings')
local refused = refusal(meta[1])
if refused then return refused end
local revision = tonumber(meta[2]) or 0
local answer = '0'
if ARGV[4] == '' or tonumber(ARGV[4]) == revision then
  local settings = unpack_settings(meta[4])
  local before = pack_settings(settings)
  for i = 5, #ARGV, 2 do settings[ARGV[i]] = ARGV[i + 1] ~= '0' and tonumber(ARGV[i + 1]) or nil end
  local after = pack_settings(settings)
  answer = '1'
  if after ~= before then
    -- It follows the clock, so that no earlier value comes back when the queue was dropped, or the server has lost its
    -- latest data.
    revision = math.max(revision + 1, now)
    if not meta[1] then
      answer = 'n'
      make_empty_queue(ARGV[3])
    end
    make_extended(meta[1])
    redis.call('HSET', META, 'revision', text(revision), 'settings', after)
  end
  answer = answer .. ' ' .. show_settings(revision, meta[3], after)
end
save_reply(answer)
return answer
