-- Which of the items have expired while they were leased.
local expired = redis.call('ZMSCORE', EXPIRIES, unpack(leases))
for i = 1, #leases do expired[i] = has_passed(expired[i]) end

