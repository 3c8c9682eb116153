-- flags: allow-oom
-- Holds lists what a worker holds, by id. A record that cannot be read is ended on the way: its owner could not either.
-- takes {worker, corrupt}, returns {list = {{id, epoch, nonce, kind, asked}}}
-- keeps: nothing else is changed.
local list = {}
for _, id in ipairs(call('ZRANGE', P .. 'held:' .. req.worker, 0, -1)) do
	local t = task(id)
	if t and t.corrupt then
		t.worker = req.worker
		end_corrupt(t, 'running')
	elseif t and t.worker == req.worker then
		list[#list + 1] = { id, t.epoch, t.nonce, t.kind, t.asked or '' }
	end
end
return answer({ list = list })
