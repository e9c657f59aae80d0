-- ARGV: a site, the name of an exception, or ''. What is set aside of it, or of all, waits as if it were new, and is asked for at
-- once also where that was left alone. Returns: sites of which there was any.

local now, found = now_ms(), {}
local function is_wanted(site) return ARGV[1] == '' or ARGV[1] == site end

for _, site in ipairs(redis.call('HKEYS', key('refused'))) do
  local left, had = '', redis.call('HGET', key('refused'), site)
  for who in string.gmatch(had, '%S+') do
    if is_wanted(site) or who == '!' .. ARGV[1] then
      local aside = key('r:' .. who .. ':' .. site)
      redis.call('ZUNIONSTORE', key('q:' .. site), 2, key('q:' .. site), aside)
      redis.call('DEL', aside)
      redis.call('HDEL', key('why'), who .. ':' .. site)
    else
      left = left .. who .. ' '
    end
  end
  if left ~= had then
    redis.call('HSET', key('refused'), site, left)
    if left == '' then redis.call('HDEL', key('refused'), site) end
    if redis.call('HEXISTS', key('owner'), site) == 0 then wait_for_worker(site, now) end
    found[#found + 1] = site
  end
end
for _, site in ipairs(redis.call('HKEYS', key('rest'))) do
  if is_wanted(site) and redis.call('HEXISTS', key('owner'), site) == 0 then
    redis.call('HDEL', key('rest'), site)
    redis.call('HDEL', key('states'), site)
    for _, which in ipairs({'due', 'last'}) do
      redis.call('ZADD', key(which), 'XX', now, site)
    end
    found[#found + 1] = site
  end
end
return found
