-- LINES: the waiting items of all keys, in the order in which those of each key are leased. An entry is the length of the
-- key (one byte), the key, the rank plus 2^48 (16 digits), and the number. HELD has the rank, too.
local function line_of(key) return string.char(#key) .. key end
local function entry_in(line, rank, number) return line .. string.format('%016d', rank + MIDDLE) .. number end
local function entry_of(key, rank, number) return entry_in(line_of(key), rank, number) end
