-- KEYS: copy, copies
-- ARGV: site, value, fetched at, seconds it is kept, most
-- Returns: sites of which there are too many, for the caller to delete their copies, whose keys are not known before
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local at, keep, most = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local old = redis.call('ZSCORE', KEYS[2], ARGV[1])
if old and tonumber(old) > at and tonumber(old) <= at + 60  -- else another clock dated it
  and redis.call('EXISTS', KEYS[1]) == 1 then return {} end
local left = math.ceil((at + keep - now) * 1000)
if left <= 0 then return {} end
redis.call('SET', KEYS[1], ARGV[2], 'PX', string.format('%.0f', left))
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
if redis.call('TTL', KEYS[2]) < keep then redis.call('EXPIRE', KEYS[2], math.ceil(keep)) end
local gone = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now - keep, 'LIMIT', 0, 10)
for _, site in ipairs(gone) do redis.call('ZREM', KEYS[2], site) end
local over = redis.call('ZCARD', KEYS[2]) - most
return over > 0 and redis.call('ZPOPMIN', KEYS[2], over) or {}
