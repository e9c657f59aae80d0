-- KEYS: copy, lease, copies
-- ARGV: site, fresh since, token, milliseconds; 0: no lease
local copy = redis.call('GET', KEYS[1])
if copy then
  local at = redis.call('ZSCORE', KEYS[3], ARGV[1])
  if at and tonumber(at) > tonumber(ARGV[2]) then return {copy, 0} end
end
if ARGV[4] == '0' then return {copy, math.max(0, redis.call('PTTL', KEYS[2]))} end
if redis.call('SET', KEYS[2], ARGV[3], 'NX', 'PX', ARGV[4]) then return {copy, 0} end
if redis.call('GET', KEYS[2]) == ARGV[3] then
  redis.call('PEXPIRE', KEYS[2], ARGV[4])
  return {copy, 0}
end
return {copy, math.max(1, redis.call('PTTL', KEYS[2]))}
