-- For how many items a step asks how large their results are.
local MAX_RESULTS = 400

-- Finds out how the items with the ids from ARGV[first] on have ended, of as many of the first ones as have results
-- that fit into a reply, but at least one. Returns for each of them a letter, and in their order what some letters have
-- besides:
--   n  there is none                       o  it has not ended
--   C  completed: `:` and its result, or ''     X  cancelled
--   d  dead: its details                   e  it has expired, and no sweep has found it yet
local function read_outcomes(first)
  local numbers, known, place_of = redis.call('HMGET', IDS, unpack(ARGV, first)), {}, {}
  local letters, texts = {}, {}
  for i, number in ipairs(numbers) do
    letters[i] = 'n'
    if number then
      known[#known + 1] = number
      place_of[#known] = i
    end
  end
  if #known == 0 then return letters, texts end
  local completed, cancelled = redis.call('ZMSCORE', COMPLETED, unpack(known)), redis.call('ZMSCORE', CANCELLED, unpack(known))
  local dead, expiries = redis.call('ZMSCORE', DEAD, unpack(known)), redis.call('ZMSCORE', EXPIRIES, unpack(known))
  local leased, room, asked, last = nil, MAX_REPLY, 0, #letters
  for k, number in ipairs(known) do
    local i, kept_until = place_of[k], tonumber(completed[k] or cancelled[k])
    local expired = has_passed(expiries[k])
    if expired then
      leased = leased or redis.call('ZMSCORE', LEASED, unpack(known))
      expired = not leased[k]
    end
    if kept_until then
      if kept_until > now then letters[i] = completed[k] and 'C' or 'X' end
    elseif dead[k] then
      letters[i] = 'd'
    else
      letters[i] = expired and 'e' or 'o'
    end
    if letters[i] == 'C' then
      room, asked = room - redis.call('HSTRLEN', RESULTS, number), asked + 1
      if (room < 0 or asked > MAX_RESULTS) and i > 1 then
        last = i - 1
        break
      end
    end
  end
  for i = #letters, last + 1, -1 do letters[i] = nil end

  local sources = { C = {}, d = {} }
  for k, number in ipairs(known) do
    local source = sources[letters[place_of[k]]]
    if source then source[#source + 1] = number end
  end
  local results = #sources.C > 0 and redis.call('HMGET', RESULTS, unpack(sources.C))
  local details = #sources.d > 0 and redis.call('HMGET', DETAILS, unpack(sources.d))
  local c, d = 0, 0
  for _, letter in ipairs(letters) do
    if letter == 'C' then
      c = c + 1
      texts[#texts + 1] = results[c] and ':' .. results[c] or ''
    elseif letter == 'd' then
      d = d + 1
      texts[#texts + 1] = details[d] or ''
    end
  end
  return letters, texts
end

-- The reply: the place in ENDINGS behind which later endings are, the letters, the texts, earlier endings.
local function outcomes_reply(letters, texts)
  local last = redis.call('XREVRANGE', ENDINGS, '+', '-', 'COUNT', 1)[1]
  return { last and last[1] or '0-0', table.concat(letters), texts, {} }
end
