-- flags: no-writes
-- Queues counts what waits, by queue.
-- takes {}, returns {counts = {queue\0what, n, …}, oldest = {queue = time}, paused = {queue = true}}
-- keeps: it changes nothing. The oldest is exact where few tasks are ready; else it is the oldest head of a lane. Others wait while tasks are looked at, so
-- all queues together are granted so many.
local look = 300
local counts = call('HGETALL', P .. 'queues')
local ready, res = {}, { counts = counts, oldest = {}, paused = {} }
for i = 1, #counts, 2 do
	local queue, what = counts[i]:match('^([^%z]*)%z(.*)$')
	if what == 'ready' then ready[queue] = tonumber(counts[i + 1]) end
	if what == 'total' and paused(queue, '', '') then res.paused[queue] = true end
end
for queue, n in pairs(ready) do
	local oldest
	if n <= look then
		look = look - math.max(n, 0)
		for _, name in ipairs(call('ZRANGE', P .. 'names:' .. queue, 0, -1)) do
			for _, m in ipairs(call('ZRANGE', P .. 'ready:' .. queue .. '\0' .. name, 0, n)) do
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
