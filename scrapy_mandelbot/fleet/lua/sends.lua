-- ARGV: number of a worker, and its token; numbers of requests that it sends.
-- Returns 1; 0: the lease of the worker has ended, and others may have what it had.

local me = ARGV[1]
if last_exchange(me, ARGV[2]) == '-1' or not redis.call('ZSCORE', key('workers'), me) then return 0 end
redis.call('SADD', key('out:' .. me), unpack(ARGV, 3))
return 1
