-- Claims: which tasks are taken, in turn, and under which fence. See lib_lane.lua for where lanes stand.

-- next_due tells when the next scheduled or parked task is due; nil: none is.
local function next_due()
	if soonest == nil then soonest = tonumber(call('ZRANGE', P .. 'due', '0', '0', 'WITHSCORES')[2]) or false end
	return soonest or nil
end

-- promote_due makes up to n tasks ready whose time has come.
local function promote_due(n)
	local at = next_due()
	if not at or at > now then return 0 end
	soonest = nil
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
		if there.wait[key] == nil then there.wait[key] = call('EXISTS', key) == 1 end
		if there.wait[key] then
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

local top, top_rank, best

do -- Lua bounds how many names one scope may have

-- top returns the levels of a kind in a queue that may be in turn: whether some are aged, and the highest with its rank (low is high), if
-- there is one.
top = function(queue, kind)
	local k = queue .. '\0' .. kind
	local found = tops[k]
	if found == nil then
		local list = call('ZRANGE', kind_key('levels', queue, kind), '0', '1', 'WITHSCORES')
		found = { aged = list[1] == 'aged' }
		local at = found.aged and 3 or 1
		if list[at] then found.token, found.rank = list[at], tonumber(list[at + 1]) end
		tops[k] = found
	end
	return found
end

-- top_rank is the highest rank of some kinds; nil if there is none.
top_rank = function(queue, kinds)
	local rank
	for _, kind in ipairs(kinds) do
		local found = top(queue, kind)
		if found.rank and (not rank or found.rank < rank) then rank = found.rank end
	end
	return rank
end

-- before reports whether a name comes before another, by bytes: the server's locale has no say.
local function before(a, b)
	for i = 1, min(#a, #b) do
		local x, y = a:byte(i), b:byte(i)
		if x ~= y then return x < y end
	end
	return #a < #b
end

-- sooner_name returns the first name from somewhere on in two levels, either of which may be missing, and its level.
local function sooner_name(one, other, from)
	local a = one and call('ZRANGEBYLEX', one, from, '+', 'LIMIT', 0, 1)[1]
	local b = other and call('ZRANGEBYLEX', other, from, '+', 'LIMIT', 0, 1)[1]
	if a and (not b or before(a, b)) then return a, one end
	return b or nil, other
end

-- in_turn returns the name of the lane whose turn it is: of those that are aged or of the highest rank the first after the cursor, or at it
-- if its turn goes on, else the first. kinds come sorted, and names begin with their kind: so the first kind that has one has the first.
local function in_turn(queue, kinds, cursor, stay)
	local rank = top_rank(queue, kinds)
	local from = cursor == '' and '-' or (stay and '[' or '(') .. cursor
	local first, first_key
	for _, kind in ipairs(kinds) do
		local found = top(queue, kind)
		local level = kind_key('level', queue, kind) .. '\0'
		local aged = found.aged and level .. 'aged'
		local high = found.rank and found.rank == rank and level .. found.token
		local after, key = sooner_name(aged, high, from)
		if after then return after, key end
		if not first then first, first_key = sooner_name(aged, high, '-') end
	end
	return first, first_key
end

-- above_shut puts a lane that is shut, and ranks above an aged one, among those that wait: it must not keep the others from their rank. It
-- returns whether there was one.
local function above_shut(L, kinds)
	if not L.aged then return false end
	local rank = top_rank(L.queue, kinds)
	if not rank or -L.prio <= rank then return false end
	for _, kind in ipairs(kinds) do
		local found = top(L.queue, kind)
		local name = found.rank == rank and call('ZRANGE', kind_key('level', L.queue, kind) .. '\0' .. found.token, '0', '0')[1]
		local H = name and lane_of(L.queue, name)
		local why, at
		if H then why, at = blocked(H) end
		if H and not why then return false end
		if H then
			park(H, why, at)
			return true
		end
	end
	return false
end

-- best returns the lane that a claim takes from next, or nil. Those it meets shut are put among those that wait.
best = function(queue, kinds, cursor, stay)
	while true do
		local name, key = in_turn(queue, kinds, cursor, stay)
		local L = name and lane_of(queue, name)
		if not name then
			if not waken(queue, kinds) and not unshut_more() then return nil end
		elseif not L then
			call('ZREM', key, name) -- a foreign hand left it
		else
			local why, at = blocked(L)
			if not why and not above_shut(L, kinds) then return L end
			if why then park(L, why, at) end
		end
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

-- gifts is about tasks for a claimer, which are gathered in three lists: ids, what changes (without the history), and what was submitted. It
-- is one name: Lua bounds how many there may be.
local gifts = {}

gifts.new = function() return { ids = {}, hots = {}, items = {}, bytes = 0 } end

-- add adds a task to those for a claimer.
gifts.add = function(gift, id, hot, item)
	local n = #gift.ids + 1
	gift.ids[n], gift.hots[n], gift.items[n] = id, hot, item or ''
	gift.bytes = gift.bytes + #hot + #gift.items[n]
end

-- hand puts tasks for a claimer into an answer. Those that were submitted and claimed together are often the same but for the
-- id: what they have in common is told once.
gifts.hand = function(res, gift)
	local hots, at, which = {}, {}, {}
	for i, hot in ipairs(gift.hots) do
		local n = at[hot]
		if not n then
			n = #hots + 1
			hots[n], at[hot] = hot, n
		end
		which[i] = n
	end
	res.ids, res.hots, res.which = concat(gift.ids), hots, #hots > 1 and which or nil
	items = items or { '' }
	for i, item in ipairs(gift.items) do items[i + 1] = item end
	return res
end

-- claim_one makes a task run under a new fence, and adds it to those for its claimer.
local function claim_one(t, claim, gift)
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
	t.alone, t.saves = first and not claim.company or nil, nil
	if t.timeout then t.deadline = now + floor(t.timeout / 1000) end
	t.state = 'nowhere'
	move(t, 'running')
	event(t, 'claimed')
	gifts.add(gift, t.id, pack_task(t), call('GET', P .. 'c:' .. t.id))
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
