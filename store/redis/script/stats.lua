-- flags: no-writes
-- Stats lists the minutes in a span.
-- takes {from, until} in minutes, returns {list = {minute, counts, …}}
-- keeps: it changes nothing.
local list = {}
for _, minute in ipairs(call('ZRANGEBYSCORE', P .. 'minutes', str(req.from), str(req.to))) do
	list[#list + 1] = tonumber(minute)
	list[#list + 1] = call('HGETALL', P .. 'stat:' .. minute)
end
return pack({ list = list })
