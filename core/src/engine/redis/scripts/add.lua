-- Adds items that do not exist yet, in one atomic step.
-- KEYS  see parts/keys.lua; the ready lists up to the highest priority in the batch
-- ARGV  [1] lane, [2] number, [3] salt, [4] count, the ids, the records (id and data as stored; opaque
--       here), the count of items with options, and for each of them: index, priority, delay (see
--       parts/delay.lua), max_attempts (0: no limit). Then perhaps what makes a queue extended: how long the unique
--       keys stay taken in any case (ms from now), whether the items replace others (1 or 0), in how many ms they
--       expire (0: never); the count of those for which that differs, and for each of them: index and the same three;
--       `*` and for each item its name and follow-ups (see parts/fire.lua), if all have some and none is a member of a group;
--       else the count of those with follow-ups, and for each of them: index, name and follow-ups. Indexes above the count are
--       of members of groups that have the id of an earlier item of the call, so they are not added;
--       1 if an item has a key, else 0; 1 if several have the same unique key, else 0; the count of those with a
--       unique key, and the keys if all have one, else for each: index and key
--       The ids of one call differ from each other.
-- Reply a string: for each item 1 (added) or 0 (one with its id or unique key exists), then `n` if the add has made
--       the queue, then perhaps what parts/end_step.lua has
if members then note_places(answer) end
if before_ids then answer = answer .. end_step.deferred end
save_reply(answer)
return answer
