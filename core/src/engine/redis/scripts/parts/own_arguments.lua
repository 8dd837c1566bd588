-- What follows has arguments of its own, those of add.lua.
local salt, ARGV = salt_of_call(), {}
