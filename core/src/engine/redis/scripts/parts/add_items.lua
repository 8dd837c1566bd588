-- Adds the items, after parts/add_begin.lua, and parts/add_plain.lua or parts/add_extended.lua. `answer`: what is replied.
-- No function has these steps: making one that uses so many variables costs as much as a command.
local moves = next(options) and new_moves()
local last = count_before or math.max(meta[1] and count_of(meta[1]) or 0, (now - YEAR_2026) * 256)
local large, largest -- the number of the last large item, and the size of the largest one
local records, names, ready, details, number_of = {}, {}, {}, {}, {}
local high, second -- as text: `last` without its last two digits, and the second to last digit
local added, plain, soonest, first_due = 0, 0, nil, nil
for i = 1, count do
  last = last + 1
  local digit = last % 36
  if digit == 0 or not high then
    local rest = (last - digit) / 36
    second = rest % 36
    if second == 0 or not high then high = in_base_36((rest - second) / 36) end
    second = DIGITS[second]
  end
  if not known[i] then
    local record, option = ARGV[4 + count + i], options[i]
    local number = high .. second .. DIGITS[digit] .. ARGV[3]
    records[added + 1], records[added + 2] = number, record
    names[added + 1], names[added + 2] = ARGV[4 + i], number
    added = added + 2
    if before_ids then number_of[i] = number end
    local size = 0
    if #record > LARGE_RECORD then
      size, large, largest = #record, number, math.max(largest or 0, #record)
    end
    if not option and size == 0 then
      plain = plain + 1
      ready[plain] = number
    else
      local priority, delay, max_attempts = 0, 0, 0
      if option then
        priority, max_attempts = tonumber(ARGV[option]), tonumber(ARGV[option + 2])
        delay = delay_of(tonumber(ARGV[option + 1]))
      end
      local due = delay > 0 and now + delay or 0
      if size + priority + delay + max_attempts > 0 then -- else only its time has passed
        details[#details + 1] = number
        details[#details + 1] = pack_details({ priority = priority, size = size, max_attempts = max_attempts,
          failures = 0, expiries = 0, deliveries = 0, front = 0, since = due, error = '',
          sections = size > 0 and key_section and key_section(record) or nil })
      end
      if delay > 0 then
        moves.at(DELAYED, due, number)
        if not first_due or due < first_due then first_due = due end
      elseif priority == 0 then
        plain = plain + 1 -- in the same list as items without options, to keep their order
        ready[plain] = number
      else
        moves.to_back(priority, number)
      end
      if not soonest or due < soonest then soonest = due end
    end
  end
end

local answer = string.rep('1', count)
if added < 2 * count then
  -- '1': it waits as a successor.
  for i = 1, count do known[i] = (not known[i] or known[i] == '1') and '1' or '0' end
  answer = table.concat(known)
end
if added > 0 then
  if not meta[4] then
    make_queue(names[2])
    answer = answer .. 'n'
  end
  redis.call('HSET', META, 'last', count_before and meta[1] or names[added], 'added', text((meta[3] or 0) + added / 2))
  if large then
    largest = math.max(largest, tonumber(redis.call('HGET', META, 'largest')) or 0)
    redis.call('HSET', META, 'large', large, 'largest', text(largest))
  end
  if note_added then note_added(names, plain == count and ready or nil) end
  redis.call('HSET', ITEMS, records[1], LONG, unpack(records))
  if before_ids then before_ids(number_of) end
  redis.call('HSET', IDS, names[1], LONG, unpack(names))
  if #details > 0 then redis.call('HSET', DETAILS, details[1], LONG, unpack(details)) end
  if plain > 0 then redis.call('LPUSH', KEYS[READY], unpack(ready)) end
  if moves then moves.write() end
  notify_workers(meta[2], plain > 0 and now or math.max(soonest, now))
  if first_due then notify_cleaner(redis.call('HGET', META, 'watched'), first_due) end
end
