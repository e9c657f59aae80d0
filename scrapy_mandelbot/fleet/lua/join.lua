-- ARGV: version of this form, milliseconds of a lease, token of the worker.
-- Returns: version; number of the worker; number of the run; sites that wait; other workers; when the
-- job began, in milliseconds of this server.

local version = redis.call('HGET', key('meta'), 'version')
if version and version ~= ARGV[1] then return {version} end
local now = now_ms()
local worker = redis.call('HINCRBY', key('meta'), 'workers', 1)
redis.call('HSET', key('meta'), 'version', ARGV[1])
redis.call('HSETNX', key('meta'), 'born', now)
set_free_some(now, 1000)
local others = redis.call('ZCARD', key('workers'))
if others == 0 then  -- a new run: sites that the last one has given up are asked again
  for _, site in ipairs(redis.call('ZRANGEBYSCORE', key('due'), '+inf', '+inf')) do
    redis.call('HDEL', key('rest'), site)
    redis.call('ZADD', key('due'), now, site)
  end
end
redis.call('ZADD', key('workers'), now + ARGV[2], worker)
redis.call('HSET', key('exchanges'), worker, ARGV[3] .. ' 0')
local run = redis.call('HGET', key('meta'), 'run') or '0'
local born = redis.call('HGET', key('meta'), 'born')
return {ARGV[1], worker, run, redis.call('ZCARD', key('due')), others, born}
