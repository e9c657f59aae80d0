-- KEYS: pauses, pause, news
-- ARGV: site, until or '', value, message, most
redis.call('PUBLISH', KEYS[3], ARGV[4])
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
if ARGV[2] == '' then
  redis.call('ZREM', KEYS[1], ARGV[1])
  redis.call('HDEL', KEYS[2], ARGV[1])
  return 0
end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
local keep = math.ceil(math.min(1e9, math.max(tonumber(ARGV[2]) - now, 0))) + 86400
for _, key in ipairs({KEYS[1], KEYS[2]}) do
  if redis.call('TTL', key) < keep then redis.call('EXPIRE', key, keep) end
end
local gone = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - 3600, 'LIMIT', 0, 10)
local over = redis.call('ZCARD', KEYS[1]) - tonumber(ARGV[5])
if over > #gone then gone = redis.call('ZRANGE', KEYS[1], 0, over - 1) end
for _, site in ipairs(gone) do
  redis.call('ZREM', KEYS[1], site)
  redis.call('HDEL', KEYS[2], site)
end
return 1
