-- The settings of the queue. META has them in one field, as `name=value` with spaces between. What cannot be read, or
-- is out of range, counts as not set.
local function unpack_settings(packed)
  local settings = {}
  if not packed or packed == '' then return settings end
  local year, month, many, million = 366 * 86400000, 31 * 86400000, 1000000000, 1000000
  local most = { max_attempts = 65535, retain = year, max_dead = many, max_retained = many, max_dead_age = year,
    max_retained_age = year, key_limit = 1000, events = million, rate = million, rate_period = month,
    rate_burst = million, ['key_rate'] = million, key_rate_period = month, key_rate_burst = million }
  for entry in string.gmatch(packed, '%S+') do
    local name, value = string.match(entry, '^([%l_]+)=([1-9]%d*)$')
    if most[name] and tonumber(value) <= most[name] then settings[name] = tonumber(value) end
  end
  -- The three numbers of a rate are set together.
  if not (settings.rate and settings.rate_period and settings.rate_burst) then
    settings.rate, settings.rate_period, settings.rate_burst = nil, nil, nil
  end
  local count, period, burst = settings.key_rate, settings.key_rate_period, settings.key_rate_burst
  if not (count and period and burst and math.floor(burst * period / count) <= year) then
    settings.key_rate, settings.key_rate_period, settings.key_rate_burst = nil, nil, nil
  end
  return settings
end

-- The settings by name; nil for those that are not set. They are read once, and only if they matter, with whether follow-ups
-- were ever `attached` to items. `stored_settings`: both fields; nil: the script has not read them.
local known_settings, stored_settings
local function read_settings()
  if not known_settings then
    local meta = stored_settings or redis.call('HMGET', META, 'settings', 'attached')
    known_settings = unpack_settings(meta[1])
    known_settings.attached = meta[2]
  end
  return known_settings
end

-- How many attempts an item has that was added without a limit of its own; 0: there is no limit.
local function default_attempts() return read_settings().max_attempts or 0 end

-- For how long (ms) an item is retained that ends now. `own`: what its completion says, or else the item; nil or false
-- if neither does.
local function retention(own)
  local settings = read_settings()
  local time = tonumber(own) or settings.retain or 0
  return math.min(time, settings.max_retained_age or time)
end
