-- Finds out which groups have ended, of those among the ids from ARGV[first] on: writes `g` (it has ended) and `o` (it has not)
-- into the letters that read_outcomes has returned for these ids.
local function read_group_outcomes(first, letters)
  local places, headers = {}, {}
  for i, letter in ipairs(letters) do
    local id = ARGV[first + i - 1]
    if letter == 'n' and string.sub(id, 1, 2) == GROUP_MARK then
      places[#places + 1], headers[#headers + 1] = i, 'G' .. string.sub(id, 3)
    end
  end
  if #headers == 0 then return end
  for n, found in ipairs(redis.call('HMGET', GROUPS, unpack(headers))) do
    local group = read_group(headers[n], found)
    if group then letters[places[n]] = group.over and 'g' or 'o' end
  end
end
