-- The groups of this queue. GROUPS has
--   `G` and a stored id   its number; how many places it has, 0 if it is not sealed; how many of them have ended, and how many of
--                         these are completed; 1 if it has ended, else 0; when it was changed last; and the name of its
--                         follow-ups, or nothing
--   `P`, an index, a space, a number, a space and the id   the states of IN_FIELD places of that group, a letter each: `-` open,
--                         `e` ended, `c` completed, `r` refused, which has ended too. What is missing is open
--   `Q`, a number, a space and the id   of that group: `x` if it is cancelled, else `-`; then the queues that have had members of
--                         it, as far as they have told, each between spaces
--   `J`, a queue, a space and a number   of a group of any queue: this queue has had members of it, and has told so: `j`, or `x`
--                         if it is cancelled, and when that was written. See parts/join_groups.lua
--   `L` and a lane        the number of the last report that was filled in: see parts/fill_places.lua
-- In AWAITED and ENDINGS a group is GROUP_MARK and its stored id, which is no stored id of an item.
local IN_FIELD, MOST_PLACES, GROUP_LASTS, GROUP_MARK = 500, 100000, 86400000, '\1G'

-- From what `G` has. nil if there is no group: one that is not sealed, or has ended, is gone a day after its last change.
local function read_group(id, found)
  local number, places, ended, completed, over, changed, name =
    string.match(found or '', '^(%S+) (%d+) (%d+) (%d+) ([01]) (%d+) (.*)$')
  if not number then return nil end
  local group = { id = id, number = number, places = tonumber(places), ended = tonumber(ended), completed = tonumber(completed),
    over = over == '1', changed = tonumber(changed), name = name }
  if (group.places == 0 or group.over) and group.changed + GROUP_LASTS <= now then return nil, group end
  return group
end

local function pack_group(group)
  return table.concat({ group.number, text(group.places), text(group.ended), text(group.completed), group.over and '1' or '0',
    text(group.changed), group.name }, ' ')
end

-- The id of the group that a field is about; nil for `J` and `L`.
local function group_of_field(field)
  return string.match(field, '^G(.*)$') or string.match(field, '^P%d+ %S+ (.*)$') or string.match(field, '^Q%S+ (.*)$')
end

local NOT_JOINED = '- '
local function field_of_joined(group) return 'Q' .. group.number .. ' ' .. group.id end

local function field_of_places(group, index) return 'P' .. text(index) .. ' ' .. group.number .. ' ' .. group.id end
