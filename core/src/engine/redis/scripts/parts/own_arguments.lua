-- What follows has arguments of its own, those of add.lua.
local salt = salt_of_call()
local plain = collect_plain(numbers, names, added, salt)
local ARGV = plain and plain.arguments or {}
