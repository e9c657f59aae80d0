-- ARGV: version of this form, milliseconds of a lease, token of the worker, version of its spider,
-- its project, or '' where that does not matter.
-- Returns: version alone, where it is to be called again, as a part of the keys no longer expires; version, and
-- the job's project, where that is another; else version; number of the worker; number of the run; sites that wait; other workers; when the
-- job began, in milliseconds of this server.

local version = redis.call('HGET', key('meta'), 'version')
if version and version ~= ARGV[1] then return {version, ''} end
local project = redis.call('HGET', key('meta'), 'project') or ARGV[5]
if ARGV[5] ~= '' and project ~= ARGV[5] then return {version, project} end
if project ~= '' then redis.call('HSET', key('meta'), 'project', project) end
local parts = tonumber(redis.call('HGET', key('meta'), 'expires') or 0)
if parts > 0 then
  redis.call('HSET', key('meta'), 'expires', parts - 1)
  each_key_of(PARTS - parts, 'PERSIST')
  return {ARGV[1]}
end
local now = now_ms()
local worker = redis.call('HINCRBY', key('meta'), 'workers', 1)
redis.call('HSET', key('meta'), 'version', ARGV[1])
redis.call('HSETNX', key('meta'), 'born', now)
set_free_some(now, 1000)
local others = redis.call('ZCARD', key('workers'))
if others == 0 then  -- a new run: sites that the last one has given up are asked again
  redis.call('DEL', key('children:-2'))
  for _, name in ipairs({'due', 'last'}) do
    for _, site in ipairs(redis.call('ZRANGEBYSCORE', key(name), '+inf', '+inf')) do
      redis.call('HDEL', key('rest'), site)
      redis.call('ZADD', key(name), now, site)
    end
  end
end
for _, site in ipairs(redis.call('HKEYS', key('refused'))) do
  local has_none = redis.call('HEXISTS', key('owner'), site) == 0
  if has_none and not redis.call('ZSCORE', key('due'), site) and #readable(site, ARGV[4]) > 0 then
    wait_for_worker(site, now)
  end
end
redis.call('HSET', key('meta'), 'knows:' .. worker, ARGV[4])
redis.call('ZADD', key('workers'), now + ARGV[2], worker)
redis.call('HSET', key('exchanges'), worker, ARGV[3] .. ' 0')
local run = redis.call('HGET', key('meta'), 'run') or '0'
local born = redis.call('HGET', key('meta'), 'born')
local waiting = redis.call('ZCARD', key('due')) + redis.call('ZCARD', key('last'))
return {ARGV[1], worker, run, waiting, others, born}
