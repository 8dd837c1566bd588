-- Notes that these groups have ended, before that is written: see parts/fire.lua. Whoever reads the note of a group that has not
-- ended, because the step has stopped there, drops it.
local function note_groups(groups)
  local notes = {}
  for _, group in ipairs(groups) do
    -- 4: it has ended; 1: all are completed; 2: they are not.
    local kinds = group.completed == group.places and '5g' or '6g'
    if group.name ~= '' then notes[#notes + 1] = kinds .. group.name .. group.number end
  end
  write_notes(notes)
end

-- Tells those who wait that these groups have ended, or are gone. Comes after that.
local function report_groups(groups)
  local ids = {}
  for i, group in ipairs(groups) do ids[i] = GROUP_MARK .. group.id end
  report_endings('g', ids)
end
