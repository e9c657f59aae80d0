-- KEYS: lease, pauses or turns
-- ARGV: site, token, milliseconds, longest wait
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local due = redis.call('ZSCORE', KEYS[2], ARGV[1])
local left = due and tonumber(due) - now or 0
if left > 0 and left <= tonumber(ARGV[4]) then return math.ceil(left * 1000) end
if redis.call('SET', KEYS[1], ARGV[2], 'NX', 'PX', ARGV[3]) then return 0 end
if redis.call('GET', KEYS[1]) ~= ARGV[2] then
  return math.max(1, redis.call('PTTL', KEYS[1]))
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 0
