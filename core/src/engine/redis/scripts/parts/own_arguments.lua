-- What follows has arguments of its own, those of add.lua.
local salt = salt_of_call()
local plain = collect_plain(numbers, names, results, added, salt)
local ARGV = plain and plain.arguments or {}
