-- flags: no-writes
-- schedules reads one schedule, or pages through all by name, or lists those that are due.
-- takes {name} or {after, limit} or {due = true, limit}, returns {list = {name, record, …}, wait}
-- keeps: it changes nothing.
local names, wait
if req.name then
	names = { req.name }
elseif req.due then
	names = call('ZRANGEBYSCORE', P .. 'ticks', '-inf', str(now), 'LIMIT', 0, req.limit)
	local first = tonumber(call('ZRANGE', P .. 'ticks', '0', '0', 'WITHSCORES')[2])
	wait = first and first - now
else
	names = call('ZRANGEBYLEX', P .. 'schedules', req.after == '' and '-' or '(' .. req.after, '+', 'LIMIT', 0, req.limit)
end
local list = {}
for _, name in ipairs(names) do
	local raw = call('GET', P .. 'schedule:' .. name)
	if raw then
		list[#list + 1] = name
		list[#list + 1] = raw
	end
end
return pack({ list = list, wait = wait })
