-- What this script has done for keys: `opened`: it has opened some; `none_open`: none is open; `looked`: keys whose
-- places it has compared with LEASED, and `looks`: with how many numbers; `calls`, `entries`: how many calls it has made
-- for open keys, and how many entries of lines it has read; `width`: at how many open keys it looks next; `ahead`: how far
-- beyond their places it reads the lines of keys; `order`: the last one that it has given to a held item; `own_limits`:
-- whether keys have some; `fronts`: see parts/fronts.lua; `raised`: see parts/raised.lua; `timed`: it has given keys times at
-- which they open.
local key_step = { looked = {}, looks = 0, calls = 0, entries = 0, width = 1, ahead = {} }
