-- The options of the items of add.lua, by their index, and what is to be done before their ids are written: nothing.
local options, before_ids = {}, nil
for i = 6 + 2 * count, #ARGV, 4 do options[tonumber(ARGV[i])] = i + 1 end

