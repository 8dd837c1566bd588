-- A number is a count in base 36 and five characters of salt, which the caller of the add chose. Up to 14
-- bytes take half the memory of a longer number.
-- Counts follow the clock (256 per millisecond since 2026) and never go back. So a server gives no count
-- twice, even when it has lost data, and a count shows when its item was added. The salt distinguishes the
-- numbers of two servers that both acted as master.
local SALT = 5

-- Returns nil if it is not the number of an item.
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
