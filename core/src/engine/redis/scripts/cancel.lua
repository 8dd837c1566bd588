-- Cancels items. Those that wait are gone, or retained as cancelled under a new number, so that no entry of a ready
-- list leads to them. Leased ones are marked: they do not come back when their leases end.
-- KEYS  see parts/keys.lua, all
-- ARGV  [1] lane, [2] number, [3] salt, from [4] what parts/named.lua reads
-- Reply a string: for each 1 (cancelled, or leased and marked), 0 (there is none, or it has ended) or - (not executed:
--       ask again)
local done = load_reply()
if done then return done end

local meta = redis.call('HMGET', META, 'format', 'cancels')
local refused = refusal(meta[1])
if refused then return refused end
local numbers = read_named(4)
local answers, named, ids, places, seen = {}, {}, {}, {}, {}
for i, number in ipairs(numbers) do
  answers[i] = '0'
  if number and not seen[number] then
    local n = #named + 1
    seen[number], named[n], ids[n], places[n] = true, number, ARGV[4 + i], i
  end
end

local leased, marks, gone = {}, {}, { numbers = {}, ids = {}, known = {}, details = {} }
local retained, retain_of = {}, {}
if #named > 0 then
  local scores, details = {}, redis.call('HMGET', DETAILS, unpack(named))
  for i, key in ipairs(SETS) do scores[i] = redis.call('ZMSCORE', key, unpack(named)) end
  local retains, marked = redis.call('HMGET', RETAINS, unpack(named)), redis.call('HMGET', MARKS, unpack(named))
  local expiries = redis.call('ZMSCORE', EXPIRIES, unpack(named))
  for n, number in ipairs(named) do
    if scores[1][n] then
      leased[number] = true
      if not marked[n] then
        marks[#marks + 1] = number
        marks[#marks + 1] = ids[n]
      end
    elseif not (scores[3][n] or scores[4][n] or scores[5][n] or has_passed(expiries[n])) then -- it has not ended
      local at = #gone.numbers + 1
      retain_of[number] = retention(retains[n])
      if retain_of[number] > 0 then
        retained[#retained + 1] = number
      else
        gone.numbers[at], gone.ids[at], gone.known[at], gone.details[at] = number, ids[n], true, details[n]
        answers[places[n]] = '1'
      end
    end
  end
end

local found, items, times = read_unleased(retained, false, MAX_REPLY), {}, {}
for i, number in ipairs(numbers) do
  local item = number and found[number]
  if number and leased[number] then
    answers[i] = '1' -- also if a batch names it twice
  elseif item and item.left then
    answers[i] = '-'
  elseif item and not item.id then
    item.id, answers[i] = ARGV[4 + i], '1'
    items[#items + 1], times[#times + 1] = item, retain_of[number]
  end
end

if #marks > 0 then
  make_extended(meta[1])
  -- Clients compare this with what they have seen. It follows the clock, so that no earlier value comes back when the
  -- server has lost its latest data.
  redis.call('HSET', META, 'cancels', text(math.max((tonumber(meta[2]) or 0) + 1, now)))
  redis.call('HSET', MARKS, unpack(marks))
end
if #gone.numbers > 0 then delete_all_of(gone.numbers, gone.ids, gone.known, gone.details) end
if #items > 0 then
  renumber(items, ARGV[3])
  local new = {}
  for n, item in ipairs(items) do new[n] = item.number end
  retain_items(CANCELLED, new, times, {})
end
local count = #gone.numbers + #items
if count > 0 then
  redis.call('HINCRBY', META, 'cancelled', count)
  local kept_ids = {}
  for n, item in ipairs(items) do kept_ids[n] = item.id end
  report_endings('x', gone.ids)
  report_endings('X', kept_ids)
end
local answer = table.concat(answers)
save_reply(answer)
return answer
