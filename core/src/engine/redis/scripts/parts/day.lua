-- What clients and cleaners leave at a queue that does not exist is kept for a day: longer than any client
-- retries or waits without looking.
local DAY = 86400000
