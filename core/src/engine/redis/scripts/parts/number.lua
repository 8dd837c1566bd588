-- A number is a count, in hexadecimal, and the five characters of salt that the caller of its add chose.
-- Counts follow the clock (256 to a millisecond since 2026) and never go back, so that one server gives
-- none twice even when it has lost data, and each tells when its item was added. The salt tells apart what
-- two servers gave that both took themselves for the master.
local SALT, YEAR_2026 = 5, 1767225600000

-- nil if it is no number of an item.
local function count_of(number) return tonumber(string.sub(number, 1, -1 - SALT), 16) end
