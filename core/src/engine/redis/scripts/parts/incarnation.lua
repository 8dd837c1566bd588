-- Makes the queue. It exists from its first item, pause or setting until it is dropped. Each time it is made it gets
-- a unique incarnation, a number like those of items. If a client waits already for an item that does not exist, the queue
-- is extended.
local function make_queue(incarnation, format)
  local early = not format and redis.call('HDEL', META, 'awaited') == 1
  redis.call('HSET', META, 'format', LONG, 'format', early and '2+1' or format or PLAIN, 'incarnation', incarnation)
  redis.call('PERSIST', META)
  redis.call('PERSIST', LANES)
end
