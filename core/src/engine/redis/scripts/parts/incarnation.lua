-- A queue exists from its first item or pause on until it is dropped. Each time it is made it gets an
-- incarnation, which no other has: a number like those of items.
local function make_queue(incarnation)
  redis.call('HSET', META, 'format', 1, 'incarnation', incarnation)
  redis.call('PERSIST', META)
  redis.call('PERSIST', LANES)
end
