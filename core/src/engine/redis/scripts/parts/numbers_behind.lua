-- As many numbers, behind the count `last`. The loop of parts/add_items.lua makes its own: a list would cost a plain add 3 %.
local function numbers_behind(last, count, salt)
  local numbers, high, second = {}, nil, nil -- as text: `last` without its last two digits, and the second to last digit
  for i = 1, count do
    last = last + 1
    local digit = last % 36
    if digit == 0 or not high then
      local rest = (last - digit) / 36
      second = rest % 36
      if second == 0 or not high then high = in_base_36((rest - second) / 36) end
      second = DIGITS[second]
    end
    numbers[i] = high .. second .. DIGITS[digit] .. salt
  end
  return numbers
end
