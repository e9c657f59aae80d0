-- What the scripts of a job share. All keys of a job begin with KEYS[1], which ends with its name in
-- braces, so that a cluster keeps them in one place.
--
--   meta     hash: version, born (when), workers and order (the last numbers given), run (which one this
--            is), left (the last run that gave pages up), outcome (how the last run ended) and over (when),
--            fingerprints and sets (how many there are), expires (how many parts of the keys expire, as no
--            work is left),
--            knows:W and with:W (the version of worker W, and digests of its settings), reported (of which run there are reports), unreported (how
--            many of them are gone), look:VERSION (how far its workers have looked through what is set
--            aside)
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
--   quiet    sorted set: site of which nothing waits -> when its row in rest may go
--   looking  hash: worker that has to look for sites that nobody queued -> 'new' at the begin of a run,
--            else 'old'
--   states   hash: site -> how it is to be asked, as its owner has said
--   q:SITE   sorted set: priority -> band, order and number of a request that waits, and its form
--   c:SITE   hash: number of a request that is claimed -> its priority, and as above
--   seen:N   set: a part of the fingerprints. Redis keeps a set of up to 512 numbers in a sixth of the
--            memory of a larger one, so there are as many sets as keep each below that
--   reports  hash: who writes it -> what a worker of the last run has to report so far
--   reported  sorted set: who writes a report -> when it was written
--   children:P  hash: fingerprint -> how often a parent gave it that no fingerprint stops. Parent 0 is
--            Scrapy's start(), -2 a spider's own, which each run asks anew
--
-- Of requests with which workers have died, and of those that some worker cannot read:
--   out:W    set: numbers of the requests that worker W has sent, and that are not settled
--   deaths   hash: number -> in how many deaths it was out, and its priority; in its queue it stands at
--            'inf', last
--   tries:W  hash: number of such a one that worker W has -> how much of what it may have of these
--   last     sorted set, as due: sites of which nothing else waits. They come after those in due
--   r:WHO:SITE  sorted set, as q: requests that are set aside. WHO is '!', where workers have died with
--            them, '!' and the name of the exception that their callback raised, '=' and the number of
--            the run that gave their pages up, or the versions of the spider that cannot read them, with
--            '+' between
--   refused  hash: site -> each WHO that it has, with a space behind
--   why      hash: WHO:SITE -> why the last of them is set aside
--   was      hash: number of a request that is claimed -> its WHO before
--
-- cookies.lua names what holds cookies.
--
-- Which sites, workers and requests a script comes by is found out in it, so that KEYS cannot have their
-- keys: Dragonfly is to allow that, all others do. So KEYS has the first one alone, which leads to the node of
-- a cluster; of join and leave, which set when they expire, also those that are of no site, worker or request.
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

local function run_now() return redis.call('HGET', key('meta'), 'run') or '0' end

-- Return, of what a site has set aside, each WHO that a version is none of, and can try to read, and each
-- that was left in a previous run.
local function readable(site, version)
  local found = {}
  for who in string.gmatch(redis.call('HGET', key('refused'), site) or '', '%S+') do
    local kind, is_readable = string.sub(who, 1, 1), false
    if kind == '=' then
      is_readable = who ~= '=' .. run_now()
    elseif kind ~= '!' then
      is_readable = not string.find(who, version, 1, true)
    end
    if is_readable then found[#found + 1] = who end
  end
  return found
end

local function wait_in(which, site, now)
  local rest = tonumber(redis.call('HGET', key('rest'), site) or 0)
  redis.call('ZADD', key(which), math.max(now, rest), site)
end

local function wait_for_worker(site, now)
  local first = redis.call('ZRANGE', key('q:' .. site), 0, 0, 'WITHSCORES')
  local is_last = not first[2] or first[2] == 'inf'
  wait_in(is_last and 'last' or 'due', site, now)
end

-- Let a site that a worker had wait for another one; what it had claimed waits in its old place, and
-- behind all others where a worker has died with it. Return how many it had claimed.
local function set_free(site, now, worker, has_died)
  local claimed = redis.call('HGETALL', key('c:' .. site))
  for i = 1, #claimed, 2 do
    local number = claimed[i]
    local priority, member = split(claimed[i + 1])
    local deaths = redis.call('HGET', key('deaths'), number)
    if has_died and redis.call('SISMEMBER', key('out:' .. worker), number) == 1 then
      deaths = (tonumber(string.match(deaths or '', '^%d+')) or 0) + 1 .. ' ' .. priority
      redis.call('HSET', key('deaths'), number, deaths)
    end
    redis.call('HDEL', key('tries:' .. worker), number)
    redis.call('HDEL', key('was'), number)
    redis.call('ZADD', key('q:' .. site), deaths and 'inf' or priority, member)
  end
  redis.call('DEL', key('c:' .. site))
  redis.call('HDEL', key('owner'), site)
  local is_waiting = redis.call('EXISTS', key('q:' .. site)) == 1
  if is_waiting or #readable(site, '-') > 0 then
    wait_for_worker(site, now)
  else
    local rest = redis.call('HGET', key('rest'), site)
    if rest then redis.call('ZADD', key('quiet'), rest, site) end
  end
  return #claimed / 2
end

-- Forget until when sites are left alone of which nothing waits, where that is over.
local function forget_quiet(now)
  for _, site in ipairs(redis.call('ZRANGEBYSCORE', key('quiet'), '-inf', now, 'LIMIT', 0, 50)) do
    redis.call('ZREM', key('quiet'), site)
    local rest = tonumber(redis.call('HGET', key('rest'), site) or math.huge)
    if rest <= now then redis.call('HDEL', key('rest'), site) end  -- else its owner has said more since
  end
end

-- A worker is none any more; what it had is set free little by little.
local function retire(worker)
  for _, set in ipairs({'idle', 'hungry'}) do redis.call('SREM', key(set), worker) end
  redis.call('HDEL', key('looking'), worker)
  redis.call('ZREM', key('workers'), worker)
  redis.call('SADD', key('ended'), worker)
  redis.call('HDEL', key('meta'), 'knows:' .. worker, 'with:' .. worker)
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

-- Fingerprints are in sets by linear hashing: set N has those whose hash is N modulo the number of sets,
-- rounded up to a power of two, or down where that set is not there yet. While there are more than
-- IN_A_SET of them on average, the next set is split in two. The fullest have about twice as many, and
-- stay below the 512 numbers up to which Redis keeps a set compact.
local IN_A_SET = 210

local function hash_of(fingerprint) return tonumber(string.sub(fingerprint, -15)) end  -- exact in a double

local function power_below(sets)
  local power = 1
  while power * 2 <= sets do power = power * 2 end
  return power
end

local function set_of(fingerprint, sets, power)
  local number = hash_of(fingerprint) % (2 * power)
  if number >= sets then number = number - power end
  return key('seen:' .. number)
end

local function add_all(set, members)
  for i = 1, #members, 1000 do redis.call('SADD', set, unpack(members, i, math.min(i + 999, #members))) end
end

-- Split the next set; return how many sets there are then. Both are written anew, and so compact again.
local function split_next(sets)
  local power = power_below(sets)
  local old, stay, go = key('seen:' .. sets - power), {}, {}
  for _, one in ipairs(redis.call('SMEMBERS', old)) do
    local into = hash_of(one) % (2 * power) == sets and go or stay
    into[#into + 1] = one
  end
  redis.call('DEL', old)
  add_all(old, stay)
  add_all(key('seen:' .. sets), go)
  return sets + 1
end

local PART = 1000  -- sets of fingerprints that expire in a call, so that no other command waits for long

local function parts_of_keys()
  return math.ceil(tonumber(redis.call('HGET', key('meta'), 'sets') or 1) / PART)
end

-- Let a part of the keys expire, 'EXPIRE' and seconds, or stay, 'PERSIST'; part 0 has all but the
-- fingerprints, too, which KEYS has to name.
local function each_key_of(part, command, ...)
  local sets = tonumber(redis.call('HGET', key('meta'), 'sets') or 1)
  for n = PART * part, math.min(sets, PART * (part + 1)) - 1 do redis.call(command, key('seen:' .. n), ...) end
  if part > 0 then return end
  redis.call(command, key('children:0'), ...)
  redis.call(command, key('children:-2'), ...)
  for i = 2, #KEYS do redis.call(command, KEYS[i], ...) end
end

local HANG = 600000  -- milliseconds; after that nobody tries to renew a lease

-- Where no worker has renewed its lease for half of one, the server was away or hung, as far as anybody
-- can say: each worker gets half a lease to renew its own.
local function spare(now, lease)
  local newest = redis.call('ZREVRANGE', key('workers'), 0, 0, 'WITHSCORES')
  local ends = tonumber(newest[2])
  if not ends or ends > now + lease / 2 or ends < now - HANG then return end
  for _, worker in ipairs(redis.call('ZRANGE', key('workers'), 0, -1)) do
    redis.call('ZADD', key('workers'), 'GT', now + lease / 2, worker)
  end
end

local MOST_FREED = 400  -- sites and claimed requests in a call, so that no other command waits for long

-- Set sites free whose workers are gone, some at a time; return whether there may be more of them.
local function set_free_some(now)
  local gone = redis.call('ZRANGEBYSCORE', key('workers'), '-inf', '(' .. now)
  for _, worker in ipairs(gone) do retire(worker) end
  local worker = redis.call('SRANDMEMBER', key('ended'))
  if not worker then return false end
  local count = 0
  while count < MOST_FREED do
    local site = redis.call('SPOP', key('of:' .. worker))
    if not site then
      redis.call('SREM', key('ended'), worker)
      redis.call('DEL', key('out:' .. worker), key('tries:' .. worker))
      break
    end
    count = count + 1 + set_free(site, now, worker, true)
  end
  return redis.call('EXISTS', key('ended')) == 1
end
