-- flags: no-writes
-- witness lists the sessions that Recover should ask the server about: those of the living that have not beaten for longest.
-- takes {}, returns {list = {worker, cid, …}}
-- keeps: it costs at most a thousand records.
local list = {}
for _, id in ipairs(call('ZRANGE', P .. 'beats', 0, 999)) do
	local w = read_map(P .. 'w:' .. id)
	if w and w.cid and w.run == req.run then
		list[#list + 1] = id
		list[#list + 1] = w.cid
	end
end
return pack({ list = list })
