-- Endings that somebody waits for. AWAITED has stored ids, those of groups behind GROUP_MARK, each with the server time until
-- which a client waits for its end. The step that ends such an item or group writes an entry to ENDINGS: for each a letter and
-- its id.
--   C, c  completed, and retained or not    X, x  cancelled, and retained or not
--   d     dead                              r     removed
--   g     a group that has ended, or was removed: what it says stays
local MAX_ENDINGS, ENDINGS_LAST = 10000, 60000
local awaited -- whether anybody waits, once this step has asked

local function is_awaited()
  if awaited == nil then awaited = redis.call('EXISTS', AWAITED) == 1 end
  return awaited
end

-- Reports what has ended, by the stored ids (false: not known). Comes after the end itself.
local function report_endings(letter, ids)
  if #ids == 0 or not is_awaited() then return end
  local named, found, entry = {}, {}, {}
  for _, id in ipairs(ids) do
    if id then named[#named + 1] = id end
  end
  if #named == 0 then return end
  for i, until_time in ipairs(redis.call('ZMSCORE', AWAITED, unpack(named))) do
    if until_time then
      found[#found + 1] = named[i]
      entry[#entry + 1] = letter
      entry[#entry + 1] = named[i]
    end
  end
  if #found == 0 then return end
  redis.call('XADD', ENDINGS, 'MAXLEN', '~', text(MAX_ENDINGS), '*', unpack(entry))
  redis.call('PEXPIRE', ENDINGS, text(ENDINGS_LAST))
  redis.call('ZREM', AWAITED, unpack(found))
end
