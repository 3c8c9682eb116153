-- flags: no-writes
-- witness lists the sessions that Recover should ask the server about: those of the living that have not beaten for longest. A pass
-- that the gate would not let through is told so before it costs anything.
-- takes {worker, run, cid, force}, returns {list = {worker, cid, …}} or {gated}
-- keeps: it costs at most a thousand records.
if not req.force then
	local by = read_map(P .. 'w:' .. req.worker)
	local since = by and not by.dead and by.cid == req.cid and by.run == req.run and by.since or NEVER
	local last = call('HMGET', P .. 'state', 'passed', 'passedby')
	local ago = now - tonumber(last[1] or 0)
	if ago >= 0 and ago < T.recoverevery and since >= tonumber(last[2] or NEVER) then return pack({ gated = true }) end
end
local list = {}
for _, id in ipairs(call('ZRANGE', P .. 'beats', 0, 999)) do
	local w = read_map(P .. 'w:' .. id)
	if w and w.cid and w.run == req.run then
		list[#list + 1] = id
		list[#list + 1] = w.cid
	end
end
return pack({ list = list })
