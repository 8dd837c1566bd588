-- Frees the places of items that were leased until now. `keys`: by index.
local function free_places(numbers, keys) leave_places(find_places(numbers, keys), numbers) end
