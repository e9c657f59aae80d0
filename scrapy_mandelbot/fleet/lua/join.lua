-- ARGV: version of this form, milliseconds of a lease, token of the worker, version of its spider,
-- its project, or '' where that does not matter, and digests of its settings.
--
-- Returns: version alone, where it is to be called again, as a part of the keys no longer expires;
--   version, and the job's project, where that is another; else
--   version; number of the worker; number of the run; sites that wait; other workers; when the job began,
--   in milliseconds of this server; when it finished, 0 where something has come since; fingerprints;
--   the digests of each other worker.

local lease = tonumber(ARGV[2])
local version = redis.call('HGET', key('meta'), 'version')
if version and version ~= ARGV[1] then return {version, ''} end
local project = redis.call('HGET', key('meta'), 'project') or ARGV[5]
if ARGV[5] ~= '' and project ~= ARGV[5] then return {version, project} end
if project ~= '' then redis.call('HSET', key('meta'), 'project', project) end
local parts = tonumber(redis.call('HGET', key('meta'), 'expires') or 0)
if parts > 0 then
  redis.call('HSET', key('meta'), 'expires', parts - 1)
  each_key_of(parts_of_keys() - parts, 'PERSIST')
  return {ARGV[1]}
end

local now = now_ms()
-- It has joined already where it did not get the reply: that worker is nobody.
for _, one in ipairs(redis.call('ZRANGE', key('workers'), 0, -1)) do
  if last_exchange(one, ARGV[3]) ~= '-1' then retire(one) end
end
local worker = redis.call('HINCRBY', key('meta'), 'workers', 1)
redis.call('HSET', key('meta'), 'version', ARGV[1])
redis.call('HSETNX', key('meta'), 'born', now)
-- Whether no worker is known to be there: a new run begins, or the server was away for all of them.
local is_alone = redis.call('ZCOUNT', key('workers'), now, '+inf') == 0
spare(now, lease)
set_free_some(now)

-- Whether another worker of this version has looked for sites that nobody has queued, or is about to.
local others = redis.call('ZRANGE', key('workers'), 0, -1)
if is_alone then redis.call('DEL', key('children:-2')) end
local has_looked, looks = false, false
for _, one in ipairs(others) do
  if redis.call('HGET', key('meta'), 'knows:' .. one) == ARGV[4] then
    if redis.call('HEXISTS', key('looking'), one) == 1 then looks = true else has_looked = true end
  end
end
if is_alone or not has_looked then
  redis.call('HSET', key('looking'), worker, is_alone and 'new' or 'old')
  if not looks then redis.call('HDEL', key('meta'), 'look:' .. ARGV[4]) end
end

redis.call('HSET', key('meta'), 'knows:' .. worker, ARGV[4], 'with:' .. worker, ARGV[6])
redis.call('ZADD', key('workers'), now + lease, worker)
redis.call('HSET', key('exchanges'), worker, ARGV[3] .. ' 0')
local run = redis.call('HGET', key('meta'), 'run') or '0'
local born = redis.call('HGET', key('meta'), 'born')
local waiting = redis.call('ZCARD', key('due')) + redis.call('ZCARD', key('last'))
local outcome, over, known = unpack(redis.call('HMGET', key('meta'), 'outcome', 'over', 'fingerprints'))
local is_over = outcome == 'finished' and waiting == 0 and redis.call('EXISTS', key('owner')) == 0
local digests = {}
for _, one in ipairs(others) do
  digests[#digests + 1] = redis.call('HGET', key('meta'), 'with:' .. one) or ''
end
return {ARGV[1], worker, run, waiting, #others, born, is_over and over or '0', known or '0', digests}
