-- Keys in OPEN that open when their rates allow it: see parts/extended.lua.

local function open_between(from, to)
  local keys, flagged, stale = redis.call('ZRANGE', OPEN, text(from), to, 'BYSCORE', 'LIMIT', 0, 500), {}, {}
  if #keys == 0 then return end
  local places = read_places(keys)
  for _, key in ipairs(keys) do
    local list = places[key].flag and flagged or stale
    list[#list + 1] = key
  end
  open_keys(flagged, places)
  -- Nobody waits in their lines any more.
  if #stale > 0 then redis.call('ZREM', OPEN, unpack(stale)) end
end

-- Opens keys whose time has come, up to 500; and those whose time is too far away, because the clock was set back: the
-- next lease gives them another one.
local function open_in_time()
  open_between(LATER, text(LATER + now))
  local rate = key_rate(read_settings())
  if rate then open_between(LATER + latest_opening(rate) + 1001, '+inf') end
end
