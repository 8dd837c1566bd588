-- Returns which part of a page of a scan to look at: its first and last index in page[2], which has pairs,
-- and the cursor and skip of the next step. A page may be longer than asked for: small hashes come as a
-- whole. So a step looks at `most` pairs at most, after the first `skip` of them.
local function part_of(page, skip, most, cursor)
  local from = 2 * skip + 1
  local to = math.min(#page[2], from + 2 * most - 1)
  if to < #page[2] then return from, to, cursor, skip + most end
  return from, to, page[1], 0
end
