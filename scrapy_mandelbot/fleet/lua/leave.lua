-- ARGV: number of the worker, its token, and milliseconds of a lease; then, of sites that it had, name,
-- state and milliseconds for which they are left alone from now on, or 'inf'. What it has is free for
-- others.
-- Returns 1 where it is to be called again, as there are more sites to set free, or keys that expire.

local me, lease, now = ARGV[1], tonumber(ARGV[3]), now_ms()
if redis.call('HEXISTS', key('meta'), 'born') == 0 then return 0 end  -- the job is gone
local is_known = last_exchange(me, ARGV[2]) ~= '-1'
for i = 4, #ARGV, 3 do
  local site, state, rest = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local owner = redis.call('HGET', key('owner'), site)
  local is_free = not owner or (is_known and owner == me)
  local until_then = rest == 'inf' and math.huge or now + rest
  if is_free and until_then >= tonumber(redis.call('HGET', key('rest'), site) or 0) then
    redis.call('HSET', key('rest'), site, rest == 'inf' and rest or until_then)
    if state ~= '' then redis.call('HSET', key('states'), site, state) end
    for _, which in ipairs({'due', 'last'}) do
      redis.call('ZADD', key(which), 'XX', 'GT', rest == 'inf' and rest or until_then, site)
    end
  end
end
if is_known and redis.call('ZSCORE', key('workers'), me) then
  spare(now, lease)
  retire(me)
  redis.call('DEL', key('out:' .. me))  -- it has not died
end
if set_free_some(now) then return 1 end
local is_left = redis.call('EXISTS', key('workers'), key('owner'), key('ended'), key('due'), key('last')) > 0
local parts = tonumber(redis.call('HGET', key('meta'), 'expires') or 0)
if is_left or parts >= parts_of_keys() or redis.call('EXISTS', key('refused'), key('deaths')) > 0 then
  return 0
end
redis.call('HSET', key('meta'), 'expires', parts + 1)
each_key_of(parts_of_keys() - 1 - parts, 'EXPIRE', 30 * 86400)  -- that it was so begun is the last to go
return 1
