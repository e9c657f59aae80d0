-- KEYS: pauses, pause
-- ARGV: after
local values = {}
for _, site in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. ARGV[1], '+inf')) do
  values[#values + 1] = redis.call('HGET', KEYS[2], site)
end
return values
