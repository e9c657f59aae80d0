-- KEYS: copy, copies, news
-- ARGV: site, message
redis.call('PUBLISH', KEYS[3], ARGV[2])
redis.call('ZREM', KEYS[2], ARGV[1])
return redis.call('DEL', KEYS[1])
