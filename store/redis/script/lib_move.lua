-- Where a task stands by its state. Every change of state goes through move, so state, owner, slot and indexes never disagree.
local group, change_group, stage_member, bare_group -- see lib_group.lua

local WAITING, LIVING, ASKED, ENDED = 0, 1, 2, 3 -- what is still to be done with a member of a group

local exit, move

do -- Lua bounds how many names one scope may have

local TALLIED = { ready = true, scheduled = true, parked = true, running = true }

-- exit takes a task out of where its state has put it. Leaving running frees the limit's slot and ends the ownership.
exit = function(t)
	local state = t.state
	if TALLIED[state] then tally(t.queue, state, -1) end
	if state == 'ready' then
		dequeue(t)
	elseif state == 'scheduled' or state == 'parked' then
		call('ZREM', P .. (t.due and 'due' or 'idle'), t.id)
		soonest = nil
	elseif state == 'held' then
		if t.stage == WAITING then stage_member(group(t.group), t, LIVING) end
	elseif state == 'running' then
		call('ZREM', P .. 'held:' .. t.worker, t.id)
		if held[t.worker] then held[t.worker] = held[t.worker] - 1 end
		if t.deadline then call('ZREM', P .. 'overdue', t.id) end
		if t.asked then call('ZREM', P .. 'asks:' .. t.worker, t.id) end
		give(t)
		t.worker, t.nonce, t.staged, t.deadline, t.alone = nil, nil, nil, nil, nil
	end
end

-- add_due lets a task wait for its time. Who waits for the next due time must hear of one that is sooner.
local function add_due(t)
	call('ZADD', P .. 'due', str(t.due), t.id)
	soonest = nil
	if call('ZRANGE', P .. 'due', '0', '0')[1] == t.id then notice_work(t.queue) end
end

move = function(t, to)
	exit(t)
	t.state = to
	if to ~= 'held' and not terminal(to) then t.reason = nil end
	touch(t)
	if TALLIED[to] then tally(t.queue, to, 1) end
	if to == 'ready' then
		t.ready = now
		enqueue(t)
	elseif to == 'scheduled' or to == 'parked' then
		if t.due then add_due(t) else call('ZADD', P .. 'idle', '0', t.id) end
	elseif to == 'held' then
		if t.reason == 'group' then stage_member(group(t.group), t, WAITING) end
	elseif to == 'running' then
		call('ZADD', P .. 'held:' .. t.worker, '0', t.id)
		if held[t.worker] then held[t.worker] = held[t.worker] + 1 end
		take(t)
		if t.deadline then call('ZADD', P .. 'overdue', str(t.deadline), t.id) end
	end
end

end

-- make_ready makes a task ready that waits no longer for anything.
local function make_ready(t)
	exit(t) -- first: where it stands in a lane depends on when it was due
	t.state, t.due = 'nowhere', now
	move(t, 'ready')
end

-- wait makes a task due after a while.
local function wait(t, delay)
	delay = floor((delay or 0) / 1000)
	if delay <= 0 then return make_ready(t) end
	t.due = now + delay
	move(t, 'scheduled')
end

-- wake bumps the count of wakes, and makes a parked task ready.
local function wake(id)
	local t = task(id)
	if not t or t.corrupt or terminal(t.state) then return end
	t.wakes = (t.wakes or 0) + 1
	if t.state == 'parked' then return make_ready(t) end
	touch(t)
end
