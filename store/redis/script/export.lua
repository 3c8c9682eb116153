-- flags: allow-oom
-- Export reads tasks with their inboxes and keys, and, with the last of them, all other records.
-- takes {from, limit}, returns {tasks = {{id, task, item, result, holder of its key, inbox}}, last, groups, workers, limits, schedules}
-- keeps: it changes nothing but rates that the clock does not allow. What is read in one call is of one moment.
local function every(index, fn)
	local list = {}
	for _, name in ipairs(call('ZRANGE', P .. index, 0, -1)) do list[#list + 1] = fn(name) end
	return list
end

local ids = call('ZRANGEBYLEX', P .. 'all', req.from == '' and '-' or '(' .. req.from, '+', 'LIMIT', 0, req.limit)
local res = { tasks = {}, last = #ids == req.limit and ids[#ids] or nil }
local bytes = 0
for i, id in ipairs(ids) do
	local t = task(id)
	tasks[id] = nil
	local key = t and t.key and call('GET', key_name(t.kind, t.key)) or ''
	local inbox = t and (t.inbox or 0) > 0 and call('HGETALL', P .. 'i:' .. id) or {}
	res.tasks[i] = {
		id, call('GET', P .. 't:' .. id) or '', call('GET', P .. 'c:' .. id) or '', call('GET', P .. 'r:' .. id) or '',
		sub(key, 1, 16) == id and (tonumber(sub(key, 17)) or NEVER) > now and key or '', inbox,
	}
	bytes = bytes + #res.tasks[i][2] + #res.tasks[i][3] + #res.tasks[i][4]
	if bytes >= 8 * MOUTHFUL and i < #ids then
		res.last = id
		break
	end
end
if not res.last then
	res.groups = every('groups', function(id) return { id, call('GET', P .. 'g:' .. id) or '', call('GET', P .. 'gc:' .. id) or '' } end)
	res.workers = every('workers', function(id) return { id, call('GET', P .. 'w:' .. id) or '' } end)
	res.schedules = every('schedules', function(name) return { name, call('GET', P .. 'schedule:' .. name) or '' } end)
	res.limits = every('limits', function(key)
		local l = limit(key)
		local at = rates_open(key, l)
		return { key, l.conf, l.running, at and at - now or 0 }
	end)
end
return answer(res)
