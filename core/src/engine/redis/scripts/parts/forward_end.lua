-- The lane is written behind the records and their follow-ups, and behind what makes room: before anybody can lease what is
-- added, and when a deep clean would add it.
local write_more = before_ids
before_ids = function(number_of)
  if write_more then make_extended(meta[4]) end
  write_follow_ups(number_of)
  if write_more then write_more(number_of, write_lane) else write_lane() end
end
