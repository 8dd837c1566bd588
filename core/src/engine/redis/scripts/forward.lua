-- Adds what entries of another queue's outbox bring, unless it was added before, in one bounded step.
-- KEYS  see parts/keys.lua
-- ARGV  [1] salt, [2] name and incarnation of the other queue, then for each entry, in their order and without a gap: its number,
--       and the packed item, or a report about a group (parts/read_report.lua)
-- Reply a string: for each entry that was handled, which are the first ones, `s` (it was handled before), 1 (added, or reported),
--       0 (one with its id or unique key exists) or `x` (it cannot be read); then `n` if the add has made the queue, and what
--       parts/end_step.lua has. Or `!` and the count that is `forgotten`: nothing was handled, because the first entry is too
--       old.
if not lane_is_written then write_lane() end
close_events()
local nth = 0
for i, letter in ipairs(letters) do
  if letter == '+' then
    nth = nth + 1
    letters[i] = string.sub(answer, nth, nth)
  end
end
return table.concat(letters) .. string.sub(answer, count + 1) .. end_step.deferred
