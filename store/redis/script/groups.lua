-- flags: no-writes
-- groups reads groups by id, or pages through all, newest first.
-- takes {id} or {before, limit}, returns {list = {{id, group, item}}}
-- keeps: it changes nothing.
local ids = req.id and { req.id }
	or call('ZREVRANGEBYLEX', P .. 'groups', req.before == '' and '+' or '(' .. req.before, '-', 'LIMIT', 0, req.limit)
local list = {}
for _, id in ipairs(ids) do
	local g = call('GET', P .. 'g:' .. id)
	if g then list[#list + 1] = { id, g, call('GET', P .. 'gc:' .. id) or '' } end
end
return pack({ list = list })
