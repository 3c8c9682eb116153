-- Claims: which tasks are taken, in turn, and under which fence. See lib_lane.lua for where lanes stand.

-- promote_due makes up to n tasks ready whose time has come.
local function promote_due(n)
	local ids = call('ZRANGEBYSCORE', P .. 'due', '-inf', str(now), 'LIMIT', 0, n)
	for _, id in ipairs(ids) do
		local t = task(id)
		if t and t.corrupt then
			call('ZREM', P .. 'due', id)
			end_corrupt(t, 'nowhere')
		elseif t and (t.state == 'scheduled' or t.state == 'parked') then
			move(t, 'ready')
		else
			call('ZREM', P .. 'due', id) -- a foreign hand left it
		end
	end
	return #ids
end

-- expire ends a task that was not started in time.
local function expire(t)
	call('ZREM', P .. 'startby', t.id)
	t.startby = nil
	change(t)
	ask(t, 'expired')
end

-- waken lets claims look at lanes again whose time has come, and at all that wait for one if the clock was stepped back.
local function waken(queue, kinds)
	local any = false
	for _, kind in ipairs(kinds) do
		local key = kind_key('wait', queue, kind)
		if call('EXISTS', key) == 1 then
			local last = tonumber(call('HGET', P .. 'clocks', queue .. '\0' .. kind) or 0)
			local to = now < last and '(+inf' or str(now)
			if now < last or now - last > 1000000 then call('HSET', P .. 'clocks', queue .. '\0' .. kind, str(now)) end
			for _, name in ipairs(call('ZRANGEBYSCORE', key, '-inf', to, 'LIMIT', 0, UNSHUT)) do
				any = true
				local L = lane_of(queue, name)
				if L and L.place == 'wait' then settle_lane(L) else call('ZREM', key, name) end
			end
		end
	end
	return any
end

-- top returns the highest level of a kind in a queue, and its rank (low is high); nil if there is none.
local function top(queue, kind)
	local k = queue .. '\0' .. kind
	local found = tops[k]
	if found == nil then
		found = call('ZRANGE', kind_key('levels', queue, kind), '0', '0', 'WITHSCORES')
		if found[1] then found = { found[1], tonumber(found[2]) } else found = false end
		tops[k] = found
	end
	return found
end

-- in_turn returns the name of the lane whose turn it is: of the highest rank the first after the cursor, else the first.
-- kinds come sorted, and names begin with their kind: so the first kind that has one has the first.
local function in_turn(queue, kinds, cursor)
	local rank
	for _, kind in ipairs(kinds) do
		local found = top(queue, kind)
		if found and (not rank or found[2] < rank) then rank = found[2] end
	end
	if not rank then return nil end
	local first, first_key
	for _, kind in ipairs(kinds) do
		local found = top(queue, kind)
		if found and found[2] == rank then
			local key = kind_key('level', queue, kind) .. '\0' .. found[1]
			local after = call('ZRANGEBYLEX', key, cursor == '' and '-' or '(' .. cursor, '+', 'LIMIT', 0, 1)[1]
			if after then return after, key end
			if not first then first, first_key = call('ZRANGE', key, '0', '0')[1], key end
		end
	end
	return first, first_key
end

-- best returns the lane that a claim takes from next, or nil. Those it meets shut are put among those that wait.
local function best(queue, kinds, cursor)
	while true do
		local name, key = in_turn(queue, kinds, cursor)
		local L = name and lane_of(queue, name)
		if not name then
			if not waken(queue, kinds) and not unshut_more() then return nil end
		elseif not L then
			call('ZREM', key, name) -- a foreign hand left it
		else
			local why, at = blocked(L)
			if not why then return L end
			park(L, why, at)
		end
	end
end

local function held_count(worker)
	if not held[worker] then held[worker] = call('ZCARD', P .. 'held:' .. worker) end
	return held[worker]
end

-- company takes it back that a task was claimed alone: another has come with it.
local function company(worker)
	if held_count(worker) ~= 1 then return end
	local t = task(call('ZRANGE', P .. 'held:' .. worker, '0', '0')[1])
	if t and t.alone then
		t.alone = nil
		change(t)
	end
end

-- given is a task as a claimer gets it: what changes, without the history, and what was submitted.
local function given(t)
	return { t.id, pack_task(t), call('GET', P .. 'c:' .. t.id) }
end

-- claim_one makes a task run under a new fence.
local function claim_one(t, claim)
	stat(t, 'claimed')
	stat(t, 'waited', max(now - t.ready, 0)) -- the clock may have been stepped back
	exit(t)
	company(claim.worker)
	if t.startby then
		call('ZREM', P .. 'startby', t.id)
		t.startby = nil
	end
	t.epoch = (t.epoch or 0) + 1
	t.nonce, t.worker, t.start, t.told = claim.nonce, claim.worker, now, t.asked and true
	local first = held_count(claim.worker) == 0
	if first then call('SADD', P .. 'holders', claim.worker) end
	t.alone, t.saves = first or nil, nil
	if t.timeout then t.deadline = now + floor(t.timeout / 1000) end
	t.state = 'nowhere'
	move(t, 'running')
	event(t, 'claimed')
	return given(t)
end

-- fit ends what must not run: an unreadable record, a member of an aborted group, a task that was not started in time.
local function fit(pick, t, L)
	if t.corrupt then
		pick.ends = pick.ends - 1
		unready(L, L.head)
		tally(t.queue, 'ready', -1)
		end_corrupt(t, 'nowhere')
		return false
	end
	local g = group(t.group)
	if g and g.aborting and not t.asked then
		pick.ends = pick.ends - 1
		ask(t, g.aborting)
		return false
	end
	if t.startby and t.startby <= now then
		pick.ends = pick.ends - 1
		expire(t)
		return false
	end
	if not t.asked and breaks.met(t) then
		pick.ends = pick.ends - 1
		if t.owned then
			ask(t, 'order')
		else
			finish(t, 'failed', 'order', nil, req.broken)
		end
		return false
	end
	return true
end
