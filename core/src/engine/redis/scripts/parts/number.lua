-- A number is a count, in base 36, and the five characters of salt that the caller of its add chose. With
-- 14 bytes or less the server's allocator gives it half of what it gives a longer one.
-- Counts follow the clock (256 to a millisecond since 2026) and never go back, so that one server gives
-- none twice even when it has lost data, and each tells when its item was added. The salt tells apart what
-- two servers gave that both took themselves for the master.
local SALT, YEAR_2026 = 5, 1767225600000

-- nil if it is no number of an item.
local function count_of(number) return tonumber(string.sub(number, 1, -1 - SALT), 36) end

local DIGITS = { [0] = '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h',
  'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z' }

local function in_base_36(count)
  local digits = {}
  while count > 0 do
    local digit = count % 36
    digits[#digits + 1] = DIGITS[digit]
    count = (count - digit) / 36
  end
  return string.reverse(table.concat(digits))
end
