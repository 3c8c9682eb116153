-- flags: allow-oom
-- Repair derives one thing anew from the records of tasks: the slots of a limit key, the holder of a unique key, the counts of a group.
-- takes {limit} or {kind, key, task} or {group}, returns {mended}
-- keeps: a sound store is left as it is. It reads all that runs, or all members of the group, in one step.
local mended = false

-- fits reports whether a task may hold the key, with or without a time.
local function fits(t, timed)
	if not t or t.corrupt or t.kind ~= req.kind or t.key ~= req.key then return false end
	local span = t.keyfor or 0
	if t.state == 'failed' then return span == -2 and not timed end
	if terminal(t.state) and (span == 0 or t.reason == 'replaced') then return false end
	return (span > 0) == timed
end

if req.limit then
	local n = 0
	for _, worker in ipairs(call('SMEMBERS', P .. 'holders')) do
		for _, id in ipairs(call('ZRANGE', P .. 'held:' .. worker, 0, -1)) do
			local t = task(id)
			if t and t.limit == req.limit and t.state == 'running' then n = n + 1 end
		end
	end
	local l = limit(req.limit)
	if l.running ~= n then
		l.running, mended = n, true
		change_limit(req.limit)
		unshut(req.limit)
		notice_all()
	end
elseif req.key then
	local v = call('GET', key_name(req.kind, req.key))
	if not v or not fits(task(sub(v, 1, 16)), #v > 16) then
		if v then
			call('DEL', key_name(req.kind, req.key))
			mended = true
		end
		local t = req.task and task(req.task)
		if fits(t, false) then
			take_key(t)
			mended = true
		end
	end
else
	local g = group(req.group)
	if g then
		local is = { done = 0, failed = 0, cancelled = 0, total = 0, records = 0 }
		for _, name in ipairs(call('ZRANGE', P .. 'members:' .. g.id, 0, -1)) do
			local t = task(sub(name, -16))
			if t then
				is.records = is.records + 1
				if terminal(t.state) then
					is[t.state] = is[t.state] + 1
				else
					is.total = is.total + 1
				end
			end
		end
		local lives = is.total
		for _, state in ipairs({ 'done', 'failed', 'cancelled' }) do
			is[state] = max(is[state], g[state])
			is.total = is.total + is[state]
		end
		is.waiting = call('ZCOUNT', P .. 'stages:' .. g.id, WAITING, WAITING)
		is.living = is.waiting + call('ZCOUNT', P .. 'stages:' .. g.id, LIVING, LIVING)
		is.unmarked = call('ZCOUNT', P .. 'stages:' .. g.id, ENDED, ENDED)
		for name, n in pairs(is) do
			if g[name] ~= n then
				g[name], mended = n, true
			end
		end
		if mended or g.state == 'open' and lives == 0 then
			mended = true
			change_group(g)
			try_close(g)
			ripen(g)
		end
	end
end
return answer({ mended = mended })
