-- How long (ms) keys are kept that clients and cleaners write for a queue that does not exist: longer than
-- any client retries or waits between two polls.
local DAY = 86400000
