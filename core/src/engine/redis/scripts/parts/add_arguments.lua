-- Replaces all elements of an array by those of these lists.
local function replace_all(array, lists)
  local size, count = #array, 0
  for _, list in ipairs(lists) do
    for n = 1, #list do array[count + n] = list[n] end
    count = count + #list
  end
  for n = size, count + 1, -1 do array[n] = nil end
end

-- Replaces ARGV by the arguments of add.lua for these items, which parts/unpack_items.lua has read. `twice`: two have the same
-- unique key.
local function add_arguments(items, salt, twice)
  local ids, records, options, more, followed, uniques, all, keyed = {}, {}, {}, {}, {}, {}, {}, 0
  local function append(list, ...)
    for _, value in ipairs({ ... }) do list[#list + 1] = type(value) == 'number' and text(value) or value end
  end
  local extended = false
  for i = 1, #items do
    local item = items[i]
    ids[i], records[i] = item.id, item.record
    -- Any flag before the id.
    extended = extended or (string.byte(item.record) or 0) > 2
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
  local lists = { { '', '', salt, text(#ids) }, ids, records, { text(#options / 4) }, options }
  if extended or #more > 0 then
    for _, list in ipairs({ { '0', '0', '0', text(#more / 4) }, more, { text(#followed / 3) }, followed,
      { text(keyed), twice and '1' or '0', text(#all) }, #all == #ids and all or uniques }) do
      lists[#lists + 1] = list
    end
  end
  replace_all(ARGV, lists)
end
