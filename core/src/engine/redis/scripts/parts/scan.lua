-- A page of a scan may be of any length: what the server keeps as one small list comes as one. Which part
-- of it to look at now (first and last place in page[2], whose entries are pairs), at most `most` pairs
-- after those to `skip`; and cursor and skip of the next step.
local function part_of(page, skip, most, cursor)
  local from = 2 * skip + 1
  local to = math.min(#page[2], from + 2 * most - 1)
  if to < #page[2] then return from, to, cursor, skip + most end
  return from, to, page[1], 0
end
