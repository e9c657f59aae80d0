-- ARGV: keys of the job, which are deleted. Returns 0 while a worker has the job, else 1.

if redis.call('ZCOUNT', key('workers'), now_ms(), '+inf') > 0 then return {0} end
for i = 1, #ARGV, 1000 do redis.call('UNLINK', unpack(ARGV, i, math.min(i + 999, #ARGV))) end
return {1}
