-- flags: allow-oom
-- rights tries every command that scripts use.
-- takes {}, returns {refused = {what the server said, …}}
-- keeps: nothing of what it tries is left behind.
local k = P .. 'probe'
local refused = {}
for _, cmd in ipairs({
	{ 'SET', k, '1' }, { 'GET', k }, { 'MSET', k, '1' }, { 'MSETNX', k, '1' }, { 'MGET', k }, { 'EXISTS', k }, { 'DEL', k },
	{ 'HSET', k, 'f', '1' }, { 'HGET', k, 'f' }, { 'HMGET', k, 'f' }, { 'HGETALL', k }, { 'HEXISTS', k, 'f' }, { 'HKEYS', k }, { 'HINCRBY', k, 'f', '1' },
	{ 'HDEL', k, 'f' }, { 'DEL', k },
	{ 'SADD', k, 'm' }, { 'SMEMBERS', k }, { 'SRANDMEMBER', k }, { 'SREM', k, 'm' }, { 'SPOP', k, '1' }, { 'DEL', k },
	{ 'ZADD', k, '0', 'm' }, { 'ZRANGE', k, '0', '0' }, { 'ZCARD', k }, { 'ZSCORE', k, 'm' }, { 'ZRANGEBYSCORE', k, '-inf', '+inf' },
	{ 'ZRANGEBYLEX', k, '-', '+' }, { 'ZREVRANGEBYLEX', k, '+', '-' }, { 'ZREM', k, 'm' }, { 'DEL', k },
	{ 'PUBLISH', P .. 'notice:probe', '' }, { 'PUBSUB', 'NUMSUB', P .. 'notice:follow' },
}) do
	local got = redis.pcall(unpack(cmd))
	if type(got) == 'table' and got.err then refused[#refused + 1] = cmd[1]:lower() .. ': ' .. got.err end
end
return pack({ refused = refused })
