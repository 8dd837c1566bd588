-- How many calls of the server a script makes for single items.
local MAX_SINGLE = 500

-- Reads the records of as many of the first numbers as fit into a reply, but at least one. `details`: those of
-- the same items. `most`: for how many the script may ask the server for the size. Returns the records (false: there
-- is none), and how many numbers they are for.
local function read_records(numbers, details, most)
  local fits = fitting(details, MAX_REPLY, 1)
  if fits < #numbers then
    -- Details have the sizes of large records only; all others have counted as large as they can be.
    local room = MAX_REPLY
    fits = math.min(#numbers, most)
    for i = 1, fits do
      room = room - redis.call('HSTRLEN', ITEMS, numbers[i])
      if room < 0 and i > 1 then
        fits = i - 1
        break
      end
    end
  end
  return redis.call('HMGET', ITEMS, unpack(numbers, 1, fits)), fits
end
