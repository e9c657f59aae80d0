-- All that a worker has to say, and what it gets for it, at once or not at all.
--
-- ARGV: 1 number of the worker, and 2 its token; 3 number of this exchange, and 4 of the last one that is
-- kept, as far as the worker knows; 5 milliseconds of a lease; 6 number of its run; 7 sites that it takes;
-- 8 requests that it claims of a new site, 0: it renews its lease, and no more; 9 whether it is idle, 'close'
-- where it is not to wait for sites that are paused; 10 version of its spider; 11 by deaths, how many such
-- requests it sends at once; then what it says, each a word and its arguments.
--
-- Returns: 'lost', the number of its last exchange that is kept, -1: none is, and when the job began, 0: there
--   is none, where the lease of this worker has ended and another may have its sites, or where this is an older
--   state of the job than the worker knows: it is to leave, and to join anew. Of another job nothing is written;
--   else
--   'well' or 'again' (this exchange was made before, and its answer did not arrive: 3 and 4 are then
--   all the worker's sites, and all that it has claimed);
--   2 milliseconds of this server;
--   3 sites that are its own from now on, each with its state or '';
--   4 requests that it has claimed: site, priority, the rest; flat;
--   5 requests that were dropped, as they were seen; 6 as their parents have given them before;
--   7 sites that it is to give back; 8 how many more it had better give back;
--   9 number of the run, and 10 how the last one ended;
--   11 milliseconds until a site is due that waits, -1: none is; 12 sites that wait;
--   13 requests that are set aside as workers have died with them: site, why, the rest; flat; 14 workers that
--   are alive.

local me, lease = ARGV[1], tonumber(ARGV[5])
local FIRST_WORD = 12
local says_something, only_renews = #ARGV >= FIRST_WORD, ARGV[8] == '0'
local version = ARGV[10]
local most_at_once = {}  -- by deaths and 1: how many requests with as many a worker has at a time
for most in string.gmatch(ARGV[11], '%d+') do most_at_once[#most_at_once + 1] = tonumber(most) end
local MOST_REPORTS = 200  -- of workers of a run; those that were written longest ago go
local LOOKED_AT = 100  -- sites of which nothing waits but such ones, or what others cannot read
local now = now_ms()
local last = last_exchange(me, ARGV[2])
local is_again = last == ARGV[3]
local is_known = last ~= '-1' and (is_again or last == ARGV[4])
if not is_known or not redis.call('ZSCORE', key('workers'), me) then
  return {'lost', last, redis.call('HGET', key('meta'), 'born') or '0'}
end
-- Where memory is full Redis refuses a script at its first write, if that is one that may need more,
-- and does not break it off later. What takes memory is refused; leases are renewed all the same.
if says_something then
  redis.call('HSET', key('meta'), 'said', '')
else
  redis.call('DEL', key('none'))
end
spare(now, lease)
redis.call('ZADD', key('workers'), now + lease, me)
set_free_some(now)
forget_quiet(now)

local is_marked = redis.call('EXISTS', key('deaths'), key('was'), key('tries:' .. me)) > 0
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
  local sites = redis.call('HLEN', key('owner'))
  for _, name in ipairs({'due', 'last'}) do
    sites = sites + redis.call('ZCOUNT', key(name), '-inf', now)
  end
  return math.ceil(sites / redis.call('ZCARD', key('workers')))
end

local granted, claimed = {}, {}

local function report_stored(site, priority, member)
  claimed[#claimed + 1] = site
  claimed[#claimed + 1] = priority
  claimed[#claimed + 1] = member
end

local function deaths_of(member)
  local kept = redis.call('HGET', key('deaths'), number_of(member)) or '0 0'
  local deaths, priority = string.match(kept, '^(%S+) (%S+)')
  return tonumber(deaths), priority
end

-- Return how many requests with so many deaths a worker has at a time, if it may have one more;
-- 0: they are set aside.
local function room_for(deaths)
  local most = most_at_once[deaths + 1]
  if not most then return 0 end
  local share = 1 / most
  for _, one in ipairs(redis.call('HVALS', key('tries:' .. me))) do share = share + 1 / one end
  return share <= 1 and most
end

local aside = {}

local function set_aside(site, priority, member, who, why)
  redis.call('ZADD', key('r:' .. who .. ':' .. site), priority, member)
  local all = redis.call('HGET', key('refused'), site) or ''
  if not string.find(' ' .. all, ' ' .. who .. ' ', 1, true) then
    redis.call('HSET', key('refused'), site, all .. who .. ' ')
  end
  redis.call('HSET', key('why'), who .. ':' .. site, why)
end

-- Set aside one that this worker has claimed; return whether it has it.
local function put_aside(site, number, who, why)
  local kept = owner(site) == me and redis.call('HGET', key('c:' .. site), number)
  if not kept then return false end
  local priority, member = split(kept)
  set_aside(site, priority, member, who, why)
  redis.call('SREM', key('out:' .. me), number)
  redis.call('HDEL', key('was'), number)
  redis.call('HDEL', key('tries:' .. me), number)
  redis.call('HDEL', key('c:' .. site), number)
  return true
end

local function hand_over(site, priority, member, place)
  redis.call('HSET', key('c:' .. site), number_of(member), priority .. ' ' .. member)
  report_stored(site, place or priority, member)
end

-- Hand over one with which workers have died.
local function try(site, member)
  local deaths, priority = deaths_of(member)
  local room = room_for(deaths)
  if room == 0 then
    local why = deaths .. ' workers have died with it'
    set_aside(site, priority, member, '!', why)
    redis.call('HDEL', key('deaths'), number_of(member))
    for _, one in ipairs({site, why, member}) do aside[#aside + 1] = one end
  elseif room then
    redis.call('HSET', key('tries:' .. me), number_of(member), room)
    hand_over(site, priority, member, 'inf')
  else
    redis.call('ZADD', key('q:' .. site), 'inf', member)
  end
end

local function claim(site, most)
  local popped = redis.call('ZPOPMIN', key('q:' .. site), most)
  for i = 1, #popped, 2 do
    if popped[i + 1] == 'inf' then
      try(site, popped[i])
    else
      hand_over(site, popped[i + 1], popped[i])
    end
  end
  local left = most - #popped / 2
  for _, who in ipairs(left > 0 and readable(site, version) or {}) do
    local queue = key('r:' .. who .. ':' .. site)
    popped = left > 0 and redis.call('ZPOPMIN', queue, left) or {}
    left = left - #popped / 2
    for i = 1, #popped, 2 do
      if string.sub(who, 1, 1) ~= '=' then redis.call('HSET', key('was'), number_of(popped[i]), who) end
      hand_over(site, popped[i + 1], popped[i])
    end
    if redis.call('EXISTS', queue) == 0 then
      local rest = ''
      for one in string.gmatch(redis.call('HGET', key('refused'), site), '%S+') do
        if one ~= who then rest = rest .. one .. ' ' end
      end
      redis.call('HDEL', key('why'), who .. ':' .. site)
      if rest == '' then
        redis.call('HDEL', key('refused'), site)
      else
        redis.call('HSET', key('refused'), site, rest)
      end
    end
  end
end

local function grant(site)
  redis.call('ZREM', key('due'), site)
  redis.call('ZREM', key('last'), site)
  redis.call('HSET', key('owner'), site, me)
  redis.call('SADD', key('of:' .. me), site)
  redis.call('HDEL', key('asked'), site)
  owners[site] = me
  granted[#granted + 1] = site
  granted[#granted + 1] = redis.call('HGET', key('states'), site) or ''
end

local function can_anybody_read(site)
  for _, worker in ipairs(redis.call('ZRANGE', key('workers'), 0, -1)) do
    local its = redis.call('HGET', key('meta'), 'knows:' .. worker)
    if its and #readable(site, its) > 0 then return true end
  end
end

-- Grant sites of which nothing waits but what has been in deaths, or what other workers cannot read,
-- that could be had at a time. Those of which nobody can read anything wait for another version.
local function grant_last(most)
  local count = 0
  for _, site in ipairs(redis.call('ZRANGEBYSCORE', key('last'), '-inf', now, 'LIMIT', 0, LOOKED_AT)) do
    if count == most then break end
    local first = redis.call('ZRANGE', key('q:' .. site), 0, 0)[1]
    local deaths = first and deaths_of(first)
    if #readable(site, version) > 0 or (first and room_for(deaths)) then
      count = count + 1
      grant(site)
      claim(site, tonumber(ARGV[8]))
    elseif not first and not can_anybody_read(site) then
      redis.call('ZREM', key('last'), site)
    end
  end
  return count
end

local waits = {}  -- sites that are known to wait for a worker
local dropped, passed_over = 0, 0
local kept = redis.call('HMGET', key('meta'), 'order', 'sets', 'fingerprints')
local order, sets, fingerprints = tonumber(kept[1] or 0), tonumber(kept[2] or 1), tonumber(kept[3] or 0)
local order_before, fingerprints_before = order, fingerprints
local power = power_below(sets)

local function member_of(kind, number, form)  -- kind: band, and 'L' where the last is the first
  order = order + 1
  local place = string.sub(kind, 2, 2) == 'L' and 4e15 - order or 4e15 + order
  return string.sub(kind, 1, 1) .. string.format('%016.0f', place) .. number .. ' ' .. form
end

local function see(fingerprint)
  local is_unseen = redis.call('SADD', set_of(fingerprint, sets, power), fingerprint) == 1
  if is_unseen then fingerprints = fingerprints + 1 end
  return is_unseen
end

local function is_new(fingerprint, parent, times)
  if fingerprint == '' then return true end
  if parent == '' then
    local is_unseen = see(fingerprint)
    if not is_unseen then dropped = dropped + 1 end
    return is_unseen
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
        if not redis.call('ZSCORE', key('due'), site) then wait_in('due', site, now) end  -- a new one is no last
      end
    end
    return i + 8
  end,
  put_back = function(i)
    if owner(ARGV[i]) == me then
      local member = member_of(ARGV[i + 2], ARGV[i + 3], ARGV[i + 4])
      redis.call('HSET', key('c:' .. ARGV[i]), ARGV[i + 3], ARGV[i + 1] .. ' ' .. member)
      redis.call('SREM', key('out:' .. me), ARGV[i + 3])
    end
    return i + 5
  end,
  done = function(i)
    if owner(ARGV[i]) == me then
      redis.call('HDEL', key('c:' .. ARGV[i]), ARGV[i + 1])
      redis.call('DEL', key('children:' .. ARGV[i + 1]))
      redis.call('SREM', key('out:' .. me), ARGV[i + 1])
      if is_marked then
        for _, name in ipairs({'deaths', 'was', 'tries:' .. me}) do
          redis.call('HDEL', key(name), ARGV[i + 1])
        end
      end
    end
    return i + 2
  end,
  leave = function(i)  -- site, number: no worker gets it in this run
    local site, number = ARGV[i], ARGV[i + 1]
    if put_aside(site, number, '=' .. run_now(), 'its page alone is refused') then
      redis.call('HSET', key('meta'), 'left', run_now())
    end
    return i + 2
  end,
  refuse = function(i)  -- site, number, why; '': this version cannot read it, else what its callback raised
    local site, number, raised = ARGV[i], ARGV[i + 1], ARGV[i + 3]
    local was = redis.call('HGET', key('was'), number)
    local who = was and was .. '+' .. version or version
    put_aside(site, number, raised ~= '' and '!' .. raised or who, ARGV[i + 2])
    return i + 4
  end,
  out = function(i)  -- numbers of requests that are sent
    for number in string.gmatch(ARGV[i], '%d+') do
      redis.call('SADD', key('out:' .. me), number)
    end
    return i + 1
  end,
  see = function(i)
    see(ARGV[i])
    return i + 1
  end,
  forget = function(i)
    redis.call('DEL', key('children:' .. ARGV[i]))
    return i + 1
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
      set_free(site, now, me)
      owners[site] = false
    end
    return i + 1
  end,
  claim = function(i)
    if owner(ARGV[i]) == me then claim(ARGV[i], tonumber(ARGV[i + 1])) end
    return i + 2
  end,
  ask = function(i)  -- for a site of which nothing need wait
    local site = ARGV[i]
    if not owner(site) then
      local due = redis.call('ZSCORE', key('due'), site) or redis.call('HGET', key('rest'), site)
      if not due or tonumber(due) <= now then
        grant(site)
        claim(site, tonumber(ARGV[8]))
      end
    elseif owner(site) ~= me then
      redis.call('HSET', key('asked'), site, me)
    end
    return i + 1
  end,
  report = function(i)  -- who writes it, number of its run, and what a worker has to report so far
    local run, reported = tonumber(ARGV[i + 1]), tonumber(redis.call('HGET', key('meta'), 'reported') or -1)
    if run > reported then
      redis.call('DEL', key('reports'), key('reported'))
      redis.call('HSET', key('meta'), 'reported', run)
      redis.call('HDEL', key('meta'), 'unreported')
    end
    if run >= reported then
      redis.call('HSET', key('reports'), ARGV[i], ARGV[i + 2])
      redis.call('ZADD', key('reported'), now, ARGV[i])
      local surplus = redis.call('ZCARD', key('reported')) - MOST_REPORTS
      local oldest = surplus > 0 and redis.call('ZPOPMIN', key('reported'), surplus) or {}
      for j = 1, #oldest, 2 do redis.call('HDEL', key('reports'), oldest[j]) end
      if surplus > 0 then redis.call('HINCRBY', key('meta'), 'unreported', surplus) end
    end
    return i + 3
  end,
}

local LOOKED_THROUGH = 400  -- sites a call

-- Look for sites that wait and that nobody has queued: those given up in the last run, and those whose
-- requests no version could read before. Workers of one version share the way through the latter.
-- Return whether there is more to look through.
local function look_on()
  local left, what = LOOKED_THROUGH, redis.call('HGET', key('looking'), me)
  if what == 'new' then
    for _, name in ipairs({'due', 'last', 'quiet'}) do
      local given_up = redis.call('ZRANGEBYSCORE', key(name), '+inf', '+inf', 'LIMIT', 0, left)
      for _, site in ipairs(given_up) do
        redis.call('HDEL', key('rest'), site)
        redis.call('ZADD', key(name), now, site)
      end
      left = left - #given_up
    end
    if left == 0 then return true end
    redis.call('HSET', key('looking'), me, 'old')
  end
  local cursor = redis.call('HGET', key('meta'), 'look:' .. version) or '0'
  local found = redis.call('HSCAN', key('refused'), cursor, 'COUNT', left)
  for i = 1, #found[2], 2 do
    local site = found[2][i]
    local has_none = redis.call('HEXISTS', key('owner'), site) == 0
    if has_none and not redis.call('ZSCORE', key('due'), site) and #readable(site, version) > 0 then
      wait_for_worker(site, now)
    end
  end
  if found[1] ~= '0' then
    redis.call('HSET', key('meta'), 'look:' .. version, found[1])
    return true
  end
  redis.call('HDEL', key('meta'), 'look:' .. version)
  local looking = redis.call('HGETALL', key('looking'))
  for i = 1, #looking, 2 do
    local its = redis.call('HGET', key('meta'), 'knows:' .. looking[i])
    if its == version and looking[i + 1] == 'old' then redis.call('HDEL', key('looking'), looking[i]) end
  end
end

local is_looking = not only_renews and redis.call('HEXISTS', key('looking'), me) == 1 and look_on()

if is_again and not only_renews then
  for _, site in ipairs(redis.call('SMEMBERS', key('of:' .. me))) do
    granted[#granted + 1] = site
    granted[#granted + 1] = redis.call('HGET', key('states'), site) or ''
    local all = redis.call('HGETALL', key('c:' .. site))
    for i = 2, #all, 2 do
      local priority, member = split(all[i])
      report_stored(site, priority, member)
    end
  end
else
  local i = FIRST_WORD
  while i <= #ARGV do i = words[ARGV[i]](i + 1) end
  local take = tonumber(ARGV[7])
  if take > 0 then
    if others_hunger() then take = math.min(take, math.max(0, share(now) - mine())) end
    local due = redis.call('ZRANGEBYSCORE', key('due'), '-inf', now, 'LIMIT', 0, take)
    for _, site in ipairs(due) do
      grant(site)
      claim(site, tonumber(ARGV[8]))
    end
    local count = #due
    if count < take and redis.call('EXISTS', key('last')) == 1 then count = count + grant_last(take - count) end
    if count < tonumber(ARGV[7]) then
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
  if fingerprints ~= fingerprints_before then
    redis.call('HSET', key('meta'), 'fingerprints', fingerprints)
    local sets_before = sets
    while fingerprints > IN_A_SET * sets do sets = split_next(sets) end
    if sets ~= sets_before then redis.call('HSET', key('meta'), 'sets', sets) end
  end
end

local give_back, surplus = {}, 0
if redis.call('EXISTS', key('asked')) == 1 then
  local asked = redis.call('HRANDFIELD', key('asked'), 100, 'WITHVALUES')
  for j = 1, #asked, 2 do
    if not redis.call('ZSCORE', key('workers'), asked[j + 1]) then
      redis.call('HDEL', key('asked'), asked[j])
    elseif owner(asked[j]) == me then
      give_back[#give_back + 1] = asked[j]
    end
  end
end
if others_hunger() then surplus = math.max(0, mine() - share(now)) end

-- The run has ended where all are idle, and nothing waits but sites and pages that were given up, or, for
-- who does not wait for them, sites that are paused.
local run = run_now()
if ARGV[9] == '' or says_something or #granted > 0 then
  redis.call('SREM', key('idle'), me)
elseif run == ARGV[6] then
  redis.call('SADD', key('idle'), me)
  local latest = ARGV[9] == 'close' and now or '(inf'
  local waiting = redis.call('ZCOUNT', key('due'), '-inf', latest)
    + redis.call('ZCOUNT', key('last'), '-inf', latest)
  if
    waiting == 0
    and redis.call('SCARD', key('idle')) >= redis.call('ZCARD', key('workers'))
    and redis.call('EXISTS', key('owner'), key('ended'), key('looking')) == 0
  then
    local has_left = redis.call('HGET', key('meta'), 'left') == run
    local is_finished = not has_left and redis.call('EXISTS', key('due'), key('last')) == 0
    local are_aside = redis.call('EXISTS', key('refused')) == 1
    run = tostring(redis.call('HINCRBY', key('meta'), 'run', 1))
    local outcome = is_finished and (are_aside and 'job_set_aside' or 'finished') or 'sites_paused'
    redis.call('HSET', key('meta'), 'outcome', outcome, 'over', now)
    redis.call('DEL', key('idle'))
    if is_finished then
      redis.call('DEL', key('children:0'), key('children:-2'))
      if outcome == 'finished' then forget_cookies() end  -- secrets, which the next crawl begins without
    end
  end
end

local due = redis.call('ZRANGEBYSCORE', key('due'), '-inf', '(inf', 'WITHSCORES', 'LIMIT', 0, 1)
local next_due = due[2] and math.max(0, due[2] - now) or -1
if is_looking then next_due = 1 end  -- there is more to look through
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
  next_due,
  redis.call('ZCARD', key('due')) + redis.call('ZCARD', key('last')),
  aside,
  redis.call('ZCARD', key('workers')),
}
