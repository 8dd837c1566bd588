-- Successors that are follow-ups have a source. The step that stores them for notes or entries may stop before it drops the
-- notes, or writes the lane. Then all is added again, so what was stored must not come too. The source is
--   `#` and the number of the first item in the mark of the notes: see parts/reserve_numbers.lua
--   `>` and the number of the entry, a space, and the lane: see parts/forward_begin.lua

-- Those of these successors that count. The others are deleted.
local function confirmed(successors)
  local forwarded, entries, lanes, mark = {}, {}, {}, nil
  for _, one in ipairs(successors) do
    local letter = string.sub(one.source, 1, 1)
    if letter == '#' then
      mark = mark or string.match(redis.call('LRANGE', DEFERRED, 0, 0)[1] or '', '^#%d+ %S+ (%S+)$') or ''
      one.pending = mark == string.sub(one.source, 2)
    elseif letter == '>' then
      local n = #forwarded + 1
      forwarded[n] = one
      entries[n], lanes[n] = string.match(one.source, '^>(%S+) (.*)$')
      lanes[n] = lanes[n] or ''
    end
  end
  local handled = #lanes > 0 and redis.call('HMGET', FORWARD_LANES, 'forgotten', unpack(lanes))
  for n, one in ipairs(forwarded) do
    local last = count_of(string.match(handled[n + 1] or '', '^[^ ]+') or '') or tonumber(handled[1] or nil) or 0
    one.pending = (count_of(entries[n] or '') or 0) > last
  end
  local found, pending, leased = {}, {}, {}
  for _, one in ipairs(successors) do
    if one.pending then pending[#pending + 1], leased[#leased + 1] = one, one.leased else found[#found + 1] = one end
  end
  if #pending > 0 then
    redis.call('HDEL', SUCCESSORS, unpack(leased))
    discard(pending, {})
  end
  return found
end
