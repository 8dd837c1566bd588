-- The notes go behind the records and their follow-ups, and behind what makes room: before anybody can lease what they have
-- added, and when a deep clean would add it.
local write_more = before_ids
before_ids = function(number_of)
  write_follow_ups(number_of)
  if write_more then write_more(number_of, drop_notes) else drop_notes() end
end
