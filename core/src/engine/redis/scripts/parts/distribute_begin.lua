-- The beginning of distribute.lua: reads notes.
local refused = refusal(redis.call('HGET', META, 'format'))
if refused then return refused end
local notes, first, first_item, cancels = read_notes()
if cancels then return what_is_left() + 4 end
read_packed(notes)
find_untrue(notes)
find_untrue_groups(notes)
local found, salt = collect(notes), ARGV[1]
