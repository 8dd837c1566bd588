-- The details of an item, packed: `priority:size:max_attempts:failures:expiries:deliveries:front:since:error`.
-- Items whose details all have their defaults have none.
--   size        of the record if it is large (parts/large.lua), else 0
--   deliveries  how often the item was leased and came back; with the number it is the token of a lease
--   front       1 if a delayed item goes to the front when due
--   since       server time at which the item became ready, 0 for the time of its add
-- Sections that few items have stand before the colon of the error: each a semicolon, a letter, its length, a
-- colon and its text.
--   A           server time of the add, for an item that has got another number since
--   F           the name of the follow-ups of an item with a large record, which is in the record too
--   H           history: `endings:releases:released:reason`: the last 16 failed (F) and expired (E) leases, each
--               a letter and the server time; how often in a row the item was released for this reason, and
--               when first
--   I           the id of an item with a large record and a unique key, which is in the record too
--   K           the key of an item with a large record, which is in the record too
--   P           how far the last holder that has said so came: any bytes
local function is_history(section)
  local endings, releases, released = string.match(section, '^(.-):(%d+):(%d+):')
  return endings and #releases <= 9 and #released <= 15 and string.gsub(endings, '[EF]%d+', '') == ''
    and not string.find(endings, string.rep('%d', 16))
end

local function unpack_details(packed)
  if not packed then
    return { priority = 0, size = 0, max_attempts = 0, failures = 0, expiries = 0, deliveries = 0, front = 0, since = 0,
      sections = {}, error = '' }
  end
  local p, size, m, f, e, d, front, since, mark, rest =
    string.match(packed, '^(%d):(%d+):(%d+):(%d+):(%d+):(%d+):(%d):(%d+)([:;])(.*)$')
  local sections = {}
  while mark == ';' do
    local letter, length, at = string.match(rest, '^(%u)(%d+):()')
    local last = letter and at + length - 1
    mark = last and string.sub(rest, last + 1, last + 1)
    if mark == ':' or mark == ';' then
      sections[letter], rest = string.sub(rest, at, last), string.sub(rest, last + 2)
    else
      p = nil
    end
  end
  if sections.H and not is_history(sections.H) then p = nil end
  if sections.A and not (#sections.A <= 15 and string.match(sections.A, '^%d+$')) then p = nil end
  if not p then
    -- Damage must not stop the queue: the defaults count, and no earlier lease is current.
    p, size, m, f, e, d, front, since, rest, sections = 0, 0, 0, 0, 0, now, 0, 0, '', {}
  end
  return {
    priority = tonumber(p), size = tonumber(size), max_attempts = tonumber(m), failures = tonumber(f),
    expiries = tonumber(e), deliveries = tonumber(d), front = tonumber(front), since = tonumber(since),
    sections = sections, error = rest, unreadable = p == 0,
  }
end

local function pack_details(x)
  local packed = string.format('%d:%d:%d:%d:%d:%d:%d:%d', x.priority, x.size, x.max_attempts, x.failures, x.expiries,
    x.deliveries, x.front, x.since)
  for letter, section in pairs(x.sections or {}) do
    packed = packed .. ';' .. letter .. text(#section) .. ':' .. section
  end
  return packed .. ':' .. x.error
end

-- Notes how a lease ended, `F` or `E`. The last 16 are kept.
local function note_ending(x, how)
  local endings = x.sections.H and string.match(x.sections.H, '^[EF%d]*') or ''
  local _, count = string.gsub(endings, '%u', '')
  if count >= 16 then endings = string.match(endings, '^%u%d+(.*)$') end
  x.sections.H = endings .. how .. text(now) .. ':0:0:'
end

-- Notes a release: `=` and its reason, or nothing if it was no doing of a worker and what was noted stays.
local function note_release(x, given)
  local history, reason = x.sections.H, string.sub(given, 2)
  if given == '' or (not history and reason == '') then return end
  local endings, releases, released, last = string.match(history or ':0:0:', '^([EF%d]*):(%d+):(%d+):(.*)$')
  if reason == '' then releases, released = 0, 0
  elseif reason ~= last then releases, released = 1, now
  else releases = math.min(releases + 1, 999999999) end
  -- `%s` would end a text at a NUL.
  x.sections.H = string.format('%s:%d:%d:', endings or '', releases, released) .. reason
end
