-- The beginning of distribute.lua: reads notes, and puts the arguments of add.lua into ARGV.
local refused = refusal(redis.call('HGET', META, 'format'))
if refused then return refused end
local items, note_count, done, twice = collect()
local function drop_notes()
  redis.call('LTRIM', DEFERRED, note_count, -1)
  note_count = 0
end
-- Nothing leads to these any more.
local function forget()
  if #done > 0 then redis.call('HDEL', FOLLOW_UPS, unpack(done)) end
end

if #items == 0 then
  if note_count > 0 then drop_notes() end
  forget()
  return redis.call('EXISTS', DEFERRED)
end

do
  local ids, records, options, more, followed, uniques, all, keyed = {}, {}, {}, {}, {}, {}, {}, 0
  local function append(list, ...)
    for _, value in ipairs({ ... }) do list[#list + 1] = type(value) == 'number' and text(value) or value end
  end
  for i, item in ipairs(items) do
    ids[i], records[i] = item.id, item.record
    local x = item.options
    if x and x.priority + x.delay + x.max_attempts > 0 then append(options, i, x.priority, x.delay, x.max_attempts) end
    if x and x.unique_for + x.replaces + x.expires_in > 0 then append(more, i, x.unique_for, x.replaces, x.expires_in) end
    if x and x.name then append(followed, i, x.name, x.nested) end
    if item.unique then
      append(uniques, i, item.unique)
      append(all, item.unique)
    end
    if x and x.keyed then keyed = 1 end
  end
  local salt = table.remove(ARGV)
  for _, list in ipairs({ { '', '', salt, text(#ids) }, ids, records, { text(#options / 4) }, options,
    { '0', '0', '0', text(#more / 4) }, more, { text(#followed / 3) }, followed,
    { text(keyed), twice and '1' or '0', text(#all) }, #all == #ids and all or uniques }) do
    for _, value in ipairs(list) do table.insert(ARGV, value) end
  end
end

local count = #items
local known = redis.call('HMGET', IDS, unpack(ARGV, 5, 4 + count))
local meta = redis.call('HMGET', META, 'last', 'waiting', 'added', 'format')
