-- What the scripts of a job share. All keys of a job begin with KEYS[1], which ends with its name in
-- braces, so that a cluster keeps them in one place.
--
--   meta     hash: version, born (when), workers and order (the last numbers given), run (which one this
--            is), outcome (how the last run ended), expires (how many parts of the keys expire, as no work
--            is left)
--   workers  sorted set: worker -> when its lease ends, in milliseconds of this server
--   exchanges  hash: worker -> its token, and the number of the last exchange in which it said or was
--            given anything; of the last thousand dead ones too. A worker that knows of a later one has
--            to do with an older state of the job: a replica that was behind, or a crash
--   ended    set: workers whose lease has ended, and whose sites are not all free yet
--   idle, hungry  sets: workers that have nothing to do; that have room for more
--   due      sorted set: site that waits for a worker -> when it may be asked
--   owner    hash: site -> the worker that has it
--   of:W     set: the sites of worker W
--   asked    hash: site -> a worker that wants it, though another one has it
--   rest     hash: site -> until when it is left alone, as its owner has said
--   states   hash: site -> how it is to be asked, as its owner has said
--   q:SITE   sorted set: priority -> band, order and number of a request that waits, and its form
--   c:SITE   hash: number of a request that is claimed -> its priority, and as above
--   seen:N   set: fingerprints that end with these digits. Many small sets of numbers take a sixth
--            of the memory of a large one, and no longer
--   children:P  hash: fingerprint -> how often a parent gave it that no fingerprint stops. Parent 0 is
--            Scrapy's start(), -2 a spider's own, which each run asks anew
--
-- Of requests with which workers have died, and of those that some worker cannot read:
--   out:W    set: numbers of the requests that worker W has sent, and that are not settled
--   deaths   hash: number -> in how many deaths it was out, its priority, and when the last of them was
--            found; in its queue it stands at 'inf', last
--   tries:W  hash: number of such a one that worker W has -> how much of what it may have of these
--   last     sorted set, as due: sites of which nothing else waits. They come after those in due
--   r:WHO:SITE  sorted set, as q: requests that are set aside. WHO is '!', where workers have died with
--            them, '!' and the name of the exception that their callback raised, or the versions of the spider that cannot read them, with '+' between; meta has the
--            version of worker W as knows:W
--   refused  hash: site -> each WHO that it has, with a space behind
--   why      hash: WHO:SITE -> why the last of them is set aside
--   was      hash: number of a request that is claimed -> its WHO before
--
-- cookies.lua names what holds cookies.
--
-- KEYS has the keys above that are of no site, worker or request. Which of those a script comes by is found
-- out in it, so that their keys cannot be there: Dragonfly is to allow that, all others do.
--!df flags=allow-undeclared-keys

local job = KEYS[1]

local function key(name) return job .. ':' .. name end

local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function split(kept)  -- a claimed request: priority, and what stands in its queue
  local space = string.find(kept, ' ', 1, true)
  return string.sub(kept, 1, space - 1), string.sub(kept, space + 1)
end

local function number_of(member)
  return string.match(member, '^%d+', 18)
end

-- Return, of what a site has set aside, each WHO that a version is none of, and can try to read.
local function readable(site, version)
  local found = {}
  for who in string.gmatch(redis.call('HGET', key('refused'), site) or '', '%S+') do
    if string.sub(who, 1, 1) ~= '!' and not string.find(who, version, 1, true) then found[#found + 1] = who end
  end
  return found
end

local function wait_for_worker(site, now)
  local rest = tonumber(redis.call('HGET', key('rest'), site) or 0)
  local first = redis.call('ZRANGE', key('q:' .. site), 0, 0, 'WITHSCORES')
  local is_last = not first[2] or first[2] == 'inf'
  redis.call('ZADD', key(is_last and 'last' or 'due'), math.max(now, rest), site)
end

-- Have a site that a worker had wait for another one; what it had claimed waits in its old place, and
-- behind all others where a worker has died with it.
local function set_free(site, now, worker, has_died)
  local claimed = redis.call('HGETALL', key('c:' .. site))
  for i = 1, #claimed, 2 do
    local number = claimed[i]
    local priority, member = split(claimed[i + 1])
    local deaths = redis.call('HGET', key('deaths'), number)
    if has_died and redis.call('SISMEMBER', key('out:' .. worker), number) == 1 then
      deaths = (tonumber(string.match(deaths or '', '^%d+')) or 0) + 1 .. ' ' .. priority .. ' ' .. now
      redis.call('HSET', key('deaths'), number, deaths)
    end
    redis.call('HDEL', key('tries:' .. worker), number)
    redis.call('HDEL', key('was'), number)
    redis.call('ZADD', key('q:' .. site), deaths and 'inf' or priority, member)
  end
  redis.call('DEL', key('c:' .. site))
  redis.call('HDEL', key('owner'), site)
  local is_waiting = redis.call('EXISTS', key('q:' .. site)) == 1
  if is_waiting or #readable(site, '-') > 0 then wait_for_worker(site, now) end
end

-- A worker is none any more; what it had is set free little by little.
local function retire(worker)
  for _, set in ipairs({'idle', 'hungry'}) do redis.call('SREM', key(set), worker) end
  redis.call('ZREM', key('workers'), worker)
  redis.call('SADD', key('ended'), worker)
  redis.call('HDEL', key('meta'), 'knows:' .. worker)
  local newest = tonumber(redis.call('HGET', key('meta'), 'workers') or 0)
  local forgotten = worker + 0 <= newest - 1000 and worker or worker - 1000
  if not redis.call('ZSCORE', key('workers'), forgotten) then
    redis.call('HDEL', key('exchanges'), forgotten)
  end
end

-- Return the number of a worker's last exchange; -1: nobody knows of that worker.
local function last_exchange(worker, token)
  local of, number = string.match(redis.call('HGET', key('exchanges'), worker) or '', '^(%S+) (%d+)$')
  return of == token and number or '-1'
end

local function forget_cookies()
  redis.call('DEL', key('cookies'), key('cookied'))
end

local PARTS = 10  -- in which the keys of a job expire, so that no other command waits for long

-- Let a part of the keys expire, 'EXPIRE' and seconds, or stay, 'PERSIST'; the first has all but fingerprints.
local function each_key_of(part, command, ...)
  for n = 100000 / PARTS * part, 100000 / PARTS * (part + 1) - 1 do
    redis.call(command, key(string.format('seen:%05d', n)), ...)
  end
  if part > 0 then return end
  redis.call(command, key('children:0'), ...)
  redis.call(command, key('children:-2'), ...)
  for i = 2, #KEYS do redis.call(command, KEYS[i], ...) end
end

-- Set sites free whose workers are gone: some at a time, so that no other command waits for long.
local function set_free_some(now, most)
  local gone = redis.call('ZRANGEBYSCORE', key('workers'), '-inf', '(' .. now)
  for _, worker in ipairs(gone) do retire(worker) end
  local ended = redis.call('SRANDMEMBER', key('ended'), 1)
  if not ended[1] then return end
  local sites = redis.call('SPOP', key('of:' .. ended[1]), most)
  for _, site in ipairs(sites) do set_free(site, now, ended[1], true) end
  if #sites < most then
    redis.call('SREM', key('ended'), ended[1])
    redis.call('DEL', key('out:' .. ended[1]), key('tries:' .. ended[1]))
  end
end
