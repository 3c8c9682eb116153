-- What time has made ripe.

-- expire_starts ends up to n tasks that were not started in time.
local function expire_starts(n)
	local done = 0
	for _, id in ipairs(call('ZRANGEBYSCORE', P .. 'startby', '-inf', str(now), 'LIMIT', 0, n)) do
		local t = task(id)
		if t and not t.corrupt and t.startby then
			done = done + 1
			expire(t)
		else
			call('ZREM', P .. 'startby', id)
		end
	end
	return done
end

-- due_now reports whether Promote has something to do.
local function due_now()
	for _, key in ipairs({ 'due', 'startby' }) do
		local at = tonumber(call('ZRANGE', P .. key, '0', '0', 'WITHSCORES')[2])
		if at and at <= now then return true end
	end
	return call('EXISTS', P .. 'ripe') == 1
end

local function staged_ids(g, from, to, n)
	if n <= 0 then return {} end
	return call('ZRANGEBYSCORE', P .. 'stages:' .. g.id, from, to, 'LIMIT', 0, n)
end

-- free_member lets a member go on that waited for its group to open.
local function free_member(g, t)
	if t.corrupt then
		end_corrupt(t, 'held')
	elseif t.state ~= 'held' then
		stage_member(g, t, LIVING)
	elseif t.due and t.due > now then
		move(t, 'scheduled')
	else
		move(t, 'ready')
	end
end

-- mark_member lets a member expire.
local function mark_member(g, t)
	stage_member(g, t, nil)
	t.marked = true
	change(t)
	may_expire(t)
end

-- abort_member asks a member to end.
local function abort_member(g, t)
	if t.corrupt and t.stage == WAITING then return end_corrupt(t, 'held') end
	stage_member(g, t, ASKED)
	ask(t, g.aborting)
end

-- each_member does something with every member of some stages, at most n of them, and returns how many that were.
local function each_member(g, from, to, n, fn)
	local ids = staged_ids(g, from, to, n)
	for _, id in ipairs(ids) do
		local t = task(id)
		if t then fn(g, t) else call('ZREM', P .. 'stages:' .. g.id, id) end
	end
	return #ids
end

-- tend does up to n steps of what a ripe group needs.
local function tend(g, n)
	local freed, aborted, marked = 0, 0, 0
	if g.aborting then aborted = each_member(g, WAITING, LIVING, n, abort_member) end
	if g.state == 'open' then freed = each_member(g, WAITING, WAITING, n - aborted, free_member) end
	if g.expiring then marked = each_member(g, ENDED, ENDED, n - aborted - freed, mark_member) end
	return freed, aborted, marked
end
