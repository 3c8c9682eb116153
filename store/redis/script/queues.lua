-- flags: no-writes
-- Queues counts what waits, by queue.
-- takes {}, returns {counts = {queue\0what, n, …}, oldest = {queue = time}, paused = {queue = true}}
-- keeps: it changes nothing. The oldest is exact for up to a thousand ready tasks; of more it is the oldest head of a lane.
local FEW_READY = 1000
local counts = call('HGETALL', P .. 'queues')
local ready, res = {}, { counts = counts, oldest = {}, paused = {} }
for i = 1, #counts, 2 do
	local queue, what = counts[i]:match('^([^%z]*)%z(.*)$')
	if what == 'ready' then ready[queue] = tonumber(counts[i + 1]) end
	if what == 'total' and paused(queue, '', '') then res.paused[queue] = true end
end
for queue, n in pairs(ready) do
	local oldest
	if n <= FEW_READY then
		for _, name in ipairs(call('ZRANGE', P .. 'names:' .. queue, 0, -1)) do
			for _, m in ipairs(call('ZRANGE', P .. 'ready:' .. queue .. '\0' .. name, 0, FEW_READY)) do
				local t = task(sub(m, -16))
				if t and t.ready and (not oldest or t.ready < oldest) then oldest = t.ready end
			end
		end
	else
		for _, key in ipairs({ 'aged:', 'age:' }) do
			oldest = oldest or tonumber(call('ZRANGE', P .. key .. queue, '0', '0', 'WITHSCORES')[2])
		end
	end
	res.oldest[queue] = oldest
end
return pack(res)
