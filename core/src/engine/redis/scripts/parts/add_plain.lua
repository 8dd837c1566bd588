-- The options of the items of add.lua, by their index; what is to be done before their ids are written, and what the
-- details of items with keys have besides: nothing; members of groups, and what tells these.
local options, before_ids, key_section, note_added, members, note_places = {}, nil, nil, nil, nil, nil
for i = 6 + 2 * count, #ARGV, 4 do options[tonumber(ARGV[i])] = i + 1 end

