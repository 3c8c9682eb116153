-- flags: no-writes
-- workers lists the workers that are on record, by id.
-- takes {after, limit}, returns {list = {{id, record}}}
-- keeps: it changes nothing.
local list = {}
for _, id in ipairs(call('ZRANGEBYLEX', P .. 'workers', req.after == '' and '-' or '(' .. req.after, '+', 'LIMIT', 0, req.limit)) do
	list[#list + 1] = { id, call('GET', P .. 'w:' .. id) or '' }
end
return pack({ list = list })
