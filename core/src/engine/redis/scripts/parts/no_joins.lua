-- What this script adds is no member of a group: see parts/join_groups.lua.
local join_groups = nil
