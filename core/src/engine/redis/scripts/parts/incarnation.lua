-- Makes the queue. It exists from its first item or pause until it is dropped. Each time it is made it gets
-- a unique incarnation, a number like those of items.
local function make_queue(incarnation, format)
  redis.call('HSET', META, 'format', format or PLAIN, 'incarnation', incarnation)
  redis.call('PERSIST', META)
  redis.call('PERSIST', LANES)
end
