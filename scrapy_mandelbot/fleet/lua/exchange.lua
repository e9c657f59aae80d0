-- All that a worker has to say, and what it gets for it, at once or not at all.
--
-- ARGV: 1 number of the worker, and 2 its token; 3 number of this exchange, and 4 of the last one that is
-- kept, as far as the worker knows; 5 milliseconds of a lease; 6 number of its run; 7 sites that it takes;
-- 8 requests that it claims of a new site, 0: it renews its lease, and no more; 9 whether it is idle, 'close'
-- where it is not to wait for sites that are paused; 10 whether the server was away; then what it says,
-- each a word and its arguments.
--
-- Returns: 'lost' and the number of its last exchange that is kept, -1: none is, where the lease of this
--   worker has ended and another may have its sites, or where this is an older state of the job than the
--   worker knows: it is to leave, and to join anew; else
--   'well' or 'again' (this exchange was made before, and its answer did not arrive: 3 and 4 are then
--   all the worker's sites, and all that it has claimed);
--   2 milliseconds of this server;
--   3 sites that are its own from now on, each with its state or '';
--   4 requests that it has claimed: site, priority, the rest; flat;
--   5 requests that were dropped, as they were seen; 6 as their parents have given them before;
--   7 sites that it is to give back; 8 how many more it had better give back;
--   9 number of the run, and 10 how the last one ended;
--   11 milliseconds until a site is due that waits, -1: none is; 12 sites that wait.

local me, lease = ARGV[1], tonumber(ARGV[5])
local says_something, only_renews = #ARGV > 10, ARGV[8] == '0'
-- Where memory is full Redis refuses a script at its first write, if that is one that may need more,
-- and does not break it off later. What takes memory is refused; leases are renewed all the same.
if says_something then
  redis.call('HSET', key('meta'), 'said', '')
else
  redis.call('DEL', key('none'))
end

local now = now_ms()
local last = last_exchange(me, ARGV[2])
local is_again = last == ARGV[3]
local is_known = last ~= '-1' and (is_again or last == ARGV[4])
if not is_known or not redis.call('ZSCORE', key('workers'), me) then
  return {'lost', last}
end
if ARGV[10] == '1' then  -- nobody could renew a lease meanwhile: each has half of one to do so
  for _, worker in ipairs(redis.call('ZRANGE', key('workers'), 0, -1)) do
    redis.call('ZADD', key('workers'), 'GT', now + lease / 2, worker)
  end
end
redis.call('ZADD', key('workers'), now + lease, me)
set_free_some(now, 200)

local owners = {}  -- of sites that have come up in this script
local function owner(site)
  if owners[site] == nil then owners[site] = redis.call('HGET', key('owner'), site) end
  return owners[site]
end

local function others_hunger()
  return redis.call('SCARD', key('hungry')) > redis.call('SISMEMBER', key('hungry'), me)
end

local function mine() return redis.call('SCARD', key('of:' .. me)) end

local function share(now)  -- of each worker, of the sites that one has or may have now
  local sites = redis.call('HLEN', key('owner')) + redis.call('ZCOUNT', key('due'), '-inf', now)
  return math.ceil(sites / redis.call('ZCARD', key('workers')))
end

local granted, claimed = {}, {}

local function tell(site, priority, member)
  claimed[#claimed + 1] = site
  claimed[#claimed + 1] = priority
  claimed[#claimed + 1] = member
end

local function claim(site, most)
  local popped = redis.call('ZPOPMIN', key('q:' .. site), most)
  for i = 1, #popped, 2 do
    local member, priority = popped[i], popped[i + 1]
    redis.call('HSET', key('c:' .. site), number_of(member), priority .. ' ' .. member)
    tell(site, priority, member)
  end
end

local function grant(site)
  redis.call('ZREM', key('due'), site)
  redis.call('HSET', key('owner'), site, me)
  redis.call('SADD', key('of:' .. me), site)
  redis.call('HDEL', key('asked'), site)
  owners[site] = me
  granted[#granted + 1] = site
  granted[#granted + 1] = redis.call('HGET', key('states'), site) or ''
end

local waits = {}  -- sites that are known to wait for a worker
local dropped, passed_over = 0, 0
local order = tonumber(redis.call('HGET', key('meta'), 'order') or 0)
local order_before = order

local function member_of(kind, number, form)  -- kind: band, and 'L' where the last is the first
  order = order + 1
  local place = string.sub(kind, 2, 2) == 'L' and 4e15 - order or 4e15 + order
  return string.sub(kind, 1, 1) .. string.format('%016.0f', place) .. number .. ' ' .. form
end

local function is_new(fingerprint, parent, times)
  if fingerprint == '' then return true end
  if parent == '' then
    if redis.call('SADD', key('seen:' .. string.sub(fingerprint, -5)), fingerprint) == 1 then
      return true
    end
    dropped = dropped + 1
    return false
  end
  local children = key('children:' .. parent)
  if tonumber(redis.call('HGET', children, fingerprint) or 0) >= tonumber(times) then
    passed_over = passed_over + 1
    return false
  end
  redis.call('HSET', children, fingerprint, times)
  return true
end

-- What a worker may say. Each takes the place of its first argument, and returns the next word's.
local words = {
  push = function(i)
    local site = ARGV[i]
    if is_new(ARGV[i + 5], ARGV[i + 6], ARGV[i + 7]) then
      local member = member_of(ARGV[i + 2], ARGV[i + 3], ARGV[i + 4])
      redis.call('ZADD', key('q:' .. site), ARGV[i + 1], member)
      if not waits[site] and not owner(site) then
        waits[site] = true
        if not redis.call('ZSCORE', key('due'), site) then wait_for_worker(site, now) end
      end
    end
    return i + 8
  end,
  put_back = function(i)
    if owner(ARGV[i]) == me then
      local member = member_of(ARGV[i + 2], ARGV[i + 3], ARGV[i + 4])
      redis.call('HSET', key('c:' .. ARGV[i]), ARGV[i + 3], ARGV[i + 1] .. ' ' .. member)
    end
    return i + 5
  end,
  done = function(i)
    if owner(ARGV[i]) == me then
      redis.call('HDEL', key('c:' .. ARGV[i]), ARGV[i + 1])
      redis.call('DEL', key('children:' .. ARGV[i + 1]))
    end
    return i + 2
  end,
  see = function(i)
    redis.call('SADD', key('seen:' .. string.sub(ARGV[i], -5)), ARGV[i])
    return i + 1
  end,
  forget = function(i)
    redis.call('DEL', key('children:' .. ARGV[i]))
    return i + 1
  end,
  keep = function(i)
    if ARGV[i + 1] == '' then
      redis.call('HDEL', key('state'), ARGV[i])
    else
      redis.call('HSET', key('state'), ARGV[i], string.sub(ARGV[i + 1], 2))
    end
    return i + 2
  end,
  rest = function(i)  -- site, its state or '', milliseconds for which it is left alone, or 'inf'
    local site, state, rest = ARGV[i], ARGV[i + 1], ARGV[i + 2]
    if owner(site) == me then
      if state == '' then
        redis.call('HDEL', key('states'), site)
      else
        redis.call('HSET', key('states'), site, state)
      end
      if rest == '0' then
        redis.call('HDEL', key('rest'), site)
      else
        redis.call('HSET', key('rest'), site, rest == 'inf' and 'inf' or now + rest)
      end
    end
    return i + 3
  end,
  give_back = function(i)
    local site = ARGV[i]
    if owner(site) == me then
      redis.call('SREM', key('of:' .. me), site)
      set_free(site, now)
      owners[site] = false
    end
    return i + 1
  end,
  claim = function(i)
    if owner(ARGV[i]) == me then claim(ARGV[i], ARGV[i + 1]) end
    return i + 2
  end,
  ask = function(i)  -- for a site of which nothing need wait
    local site = ARGV[i]
    if not owner(site) then
      local due = redis.call('ZSCORE', key('due'), site) or redis.call('HGET', key('rest'), site)
      if not due or tonumber(due) <= now then
        grant(site)
        claim(site, ARGV[8])
      end
    elseif owner(site) ~= me then
      redis.call('HSET', key('asked'), site, me)
    end
    return i + 1
  end,
}

if is_again and not only_renews then
  for _, site in ipairs(redis.call('SMEMBERS', key('of:' .. me))) do
    granted[#granted + 1] = site
    granted[#granted + 1] = redis.call('HGET', key('states'), site) or ''
    local all = redis.call('HGETALL', key('c:' .. site))
    for i = 2, #all, 2 do
      local priority, member = split(all[i])
      tell(site, priority, member)
    end
  end
else
  local i = 11
  while i <= #ARGV do i = words[ARGV[i]](i + 1) end
  local take = tonumber(ARGV[7])
  if take > 0 then
    if others_hunger() then take = math.min(take, math.max(0, share(now) - mine())) end
    local due = redis.call('ZRANGEBYSCORE', key('due'), '-inf', now, 'LIMIT', 0, take)
    for _, site in ipairs(due) do
      grant(site)
      claim(site, ARGV[8])
    end
    if #due < tonumber(ARGV[7]) then
      redis.call('SADD', key('hungry'), me)
    else
      redis.call('SREM', key('hungry'), me)
    end
  else
    redis.call('SREM', key('hungry'), me)
  end
  if says_something or #granted > 0 then
    redis.call('HSET', key('exchanges'), me, ARGV[2] .. ' ' .. ARGV[3])
  end
  if order ~= order_before then redis.call('HSET', key('meta'), 'order', order) end
end

local give_back, surplus = {}, 0
if redis.call('EXISTS', key('asked')) == 1 then
  local asked = redis.call('HGETALL', key('asked'))
  for j = 1, #asked, 2 do
    if not redis.call('ZSCORE', key('workers'), asked[j + 1]) then
      redis.call('HDEL', key('asked'), asked[j])
    elseif owner(asked[j]) == me then
      give_back[#give_back + 1] = asked[j]
    end
  end
end
if others_hunger() then surplus = math.max(0, mine() - share(now)) end

-- The run has ended where all are idle, and nothing waits but sites that were given up, or, for who
-- does not wait for them, are paused.
local run = redis.call('HGET', key('meta'), 'run') or '0'
if ARGV[9] == '' or says_something or #granted > 0 then
  redis.call('SREM', key('idle'), me)
elseif run == ARGV[6] then
  redis.call('SADD', key('idle'), me)
  local waiting = redis.call('ZCOUNT', key('due'), '-inf', ARGV[9] == 'close' and now or '(inf')
  if
    waiting == 0
    and redis.call('SCARD', key('idle')) >= redis.call('ZCARD', key('workers'))
    and redis.call('EXISTS', key('owner'), key('ended')) == 0
  then
    local is_finished = redis.call('EXISTS', key('due')) == 0
    run = tostring(redis.call('HINCRBY', key('meta'), 'run', 1))
    redis.call('HSET', key('meta'), 'outcome', is_finished and 'finished' or 'sites_paused')
    redis.call('DEL', key('idle'))
    if is_finished then redis.call('DEL', key('children:0')) end
  end
end

local next_due = redis.call('ZRANGEBYSCORE', key('due'), '-inf', '(inf', 'WITHSCORES', 'LIMIT', 0, 1)
return {
  is_again and 'again' or 'well',
  now,
  granted,
  claimed,
  dropped,
  passed_over,
  give_back,
  surplus,
  run,
  redis.call('HGET', key('meta'), 'outcome') or '',
  next_due[2] and math.max(0, next_due[2] - now) or -1,
  redis.call('ZCARD', key('due')),
}
