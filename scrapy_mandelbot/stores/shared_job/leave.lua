-- ARGV: number of the worker. What it has is free for others.

local now = now_ms()
if redis.call('ZREM', key('workers'), ARGV[1]) == 1 then
  redis.call('SREM', key('idle'), ARGV[1])
  redis.call('SREM', key('hungry'), ARGV[1])
  redis.call('HDEL', key('exchanges'), ARGV[1])
  redis.call('SADD', key('ended'), ARGV[1])
end
for _ = 1, 10 do set_free_some(now, 1000) end
return redis.call('ZCARD', key('workers'))
