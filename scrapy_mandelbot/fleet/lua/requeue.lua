-- ARGV: 1 a site, the name of an exception, or '': what is set aside of it, or of all, waits as if it were
-- new, and is requested at once also where the site was left alone; 2 'refused' or 'rest', the hash to look
-- through, and 3 how far that was done, 0 at first.
-- Returns: 1 where it is to be called again; how far it is done; sites of which there was any.

local wanted, which, cursor = ARGV[1], ARGV[2], ARGV[3]
local SITES, REQUESTS = 300, 300  -- a call, so that no other command waits for long
local now, found, left = now_ms(), {}, REQUESTS

local function is_wanted(site) return wanted == '' or wanted == site end

local function has_owner(site) return redis.call('HEXISTS', key('owner'), site) == 1 end

-- Move what is set aside of a site as one WHO, as much as a call may; return whether that is all.
local function move(site, who)
  local moved = redis.call('ZPOPMIN', key('r:' .. who .. ':' .. site), left)
  for i = 1, #moved, 2 do redis.call('ZADD', key('q:' .. site), moved[i + 1], moved[i]) end
  left = left - #moved / 2
  return left > 0
end

local function requeue_aside(site)
  local stays, had, before = '', redis.call('HGET', key('refused'), site) or '', left
  for who in string.gmatch(had, '%S+') do
    local goes = left > 0 and (is_wanted(site) or who == '!' .. wanted)
    if goes and move(site, who) then
      redis.call('HDEL', key('why'), who .. ':' .. site)
    else
      stays = stays .. who .. ' '
    end
  end
  if stays ~= had or left < before then
    redis.call('HSET', key('refused'), site, stays)
    if stays == '' then redis.call('HDEL', key('refused'), site) end
    if not has_owner(site) then wait_for_worker(site, now) end
    found[#found + 1] = site
  end
end

local function requeue_rest(site)
  if not is_wanted(site) or has_owner(site) then return end
  if redis.call('HDEL', key('rest'), site) == 0 then return end
  local budget = string.match(redis.call('HGET', key('states'), site) or '', '\n.*')
  if budget then  -- what is used up stays so
    redis.call('HSET', key('states'), site, budget)
  else
    redis.call('HDEL', key('states'), site)
  end
  for _, name in ipairs({'due', 'last'}) do redis.call('ZADD', key(name), 'XX', now, site) end
  found[#found + 1] = site
end

local sites, next_cursor = {wanted}, '0'
if not string.find(wanted, '://', 1, true) then
  local scanned = redis.call('HSCAN', key(which), cursor, 'COUNT', SITES)
  sites, next_cursor = {}, scanned[1]
  for i = 1, #scanned[2], 2 do sites[#sites + 1] = scanned[2][i] end
end
for _, site in ipairs(sites) do
  if which == 'rest' then
    requeue_rest(site)
  elseif left > 0 then
    requeue_aside(site)
  end
end
if left <= 0 then return {1, cursor, found} end  -- the same sites once more
return {next_cursor == '0' and 0 or 1, next_cursor, found}
