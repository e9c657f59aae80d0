-- KEYS: turns, news
-- ARGV: site, due, message, most
redis.call('PUBLISH', KEYS[2], ARGV[3])
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local old = redis.call('ZSCORE', KEYS[1], ARGV[1])
local due = tonumber(ARGV[2])
if old and tonumber(old) >= due and tonumber(old) <= due + 3600 then return 0 end  -- else it is of another pace
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
local keep = math.ceil(math.min(1e9, math.max(due - now, 0))) + 86400
if redis.call('TTL', KEYS[1]) < keep then redis.call('EXPIRE', KEYS[1], keep) end
local gone = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - 3600, 'LIMIT', 0, 10)
for _, site in ipairs(gone) do redis.call('ZREM', KEYS[1], site) end
local over = redis.call('ZCARD', KEYS[1]) - tonumber(ARGV[4])
if over > 0 then redis.call('ZREMRANGEBYRANK', KEYS[1], 0, over - 1) end
return 1
