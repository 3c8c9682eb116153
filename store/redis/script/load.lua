-- flags: no-writes
-- Load reads checkpoint entries.
-- takes {id, names}, returns {entries = {name, value, …}} or {err}
-- keeps: a task without its payload answers that it is gone, not that it is empty.
local t = task(req.id)
if not t then return pack(bad('notfound', 'task ' .. uuid(req.id))) end
if t.stripped then return pack(bad('notfound', 'the checkpoint of task ' .. uuid(req.id) .. ' is gone')) end
if #req.names == 0 then return pack({ entries = call('HGETALL', P .. 'e:' .. req.id) }) end
local list = {}
for _, name in ipairs(req.names) do
	local value = call('HGET', P .. 'e:' .. req.id, name)
	if value then
		list[#list + 1] = name
		list[#list + 1] = value
	end
end
return pack({ entries = list })
