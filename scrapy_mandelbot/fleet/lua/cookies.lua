-- Cookies that a worker's crawl has changed, and those that other workers have changed.
--
-- ARGV: 1 number of the last change that the worker knows of; 2 how many it takes; 3 how many the job
-- stores at most; 4 when its job began; then its own changes, each a key and the cookie as it is written.
--
-- Returns: number of the last change that the worker knows of now; 1 where there are more; the cookies. Another
-- job, or none, takes no changes and has none to give.
--
--   cookies   hash: key of a cookie -> the cookie, or what is left of one that is gone
--   cookied   sorted set: key -> the number of its last change

local known, most, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

if redis.call('HGET', key('meta'), 'born') ~= ARGV[4] then return {known, 0, {}} end
for i = 5, #ARGV, 2 do
  local number = redis.call('HINCRBY', key('meta'), 'cookies', 1)
  redis.call('HSET', key('cookies'), ARGV[i], ARGV[i + 1])
  redis.call('ZADD', key('cookied'), number, ARGV[i])
end
local surplus = redis.call('ZCARD', key('cookied')) - limit
if surplus > 0 then  -- those that changed longest ago
  local oldest = redis.call('ZPOPMIN', key('cookied'), surplus)
  for i = 1, #oldest, 2 do redis.call('HDEL', key('cookies'), oldest[i]) end
end

local newest = tonumber(redis.call('HGET', key('meta'), 'cookies') or 0)
if newest < known then return {newest, 0, {}} end
local changed = redis.call('ZRANGEBYSCORE', key('cookied'), '(' .. known, '+inf', 'WITHSCORES', 'LIMIT', 0, most)
local found = {}
local last = newest
for i = 1, #changed, 2 do
  found[#found + 1] = redis.call('HGET', key('cookies'), changed[i]) or ''
  last = tonumber(changed[i + 1])
end
local has_more = #found == most
return {has_more and last or newest, has_more and 1 or 0, found}
