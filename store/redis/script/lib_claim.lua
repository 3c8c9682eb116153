-- The whole of a claim, as Claim and Complete make it.
local function weight(L)
	if there.weight == nil then there.weight = call('EXISTS', P .. 'weights') == 1 end
	if not there.weight then return 1 end
	local w = call('HGET', P .. 'weights', L.queue .. '\0' .. L.key)
	return tonumber(w or 1)
end

-- repeated answers a claim whose answer was lost: what still runs under its nonce.
local function repeated(claim)
	local gift = gifts.new()
	for _, id in ipairs(call('ZRANGE', P .. 'held:' .. claim.worker, 0, -1)) do
		local t = task(id)
		if t and t.nonce == claim.nonce then gifts.add(gift, id, pack_task(t), call('GET', P .. 'c:' .. id)) end
	end
	return gift
end

local function dead(worker) return bad('dead', 'worker ' .. worker) end

-- alive reports whether a worker may claim.
local function alive(id) return call('ZSCORE', P .. 'alive', id) and true end

local run_claim

do -- what follows is of a whole claim alone: Lua bounds how many names one scope may have

-- take_turn takes up to n tasks of a lane.
local function take_turn(pick, L, n)
	local taken = 0
	while taken < n and not L.gone and pick.ends > 0 and pick.gift.bytes < MOUTHFUL and not blocked(L) do
		local t = task(head_id(L))
		if fit(pick, t, L) then
			claim_one(t, pick.claim, pick.gift)
			taken = taken + 1
		end
	end
	return taken
end

-- sole reports whether a lane is the only one whose turn it may be: then every turn is its own.
local function sole(L, kinds)
	local rank = top_rank(L.queue, kinds)
	for _, kind in ipairs(kinds) do
		local found = top(L.queue, kind)
		local mine = kind == L.kind
		if found.aged and not (mine and L.aged and call('ZCARD', level_key(L, 'aged')) == 1) then return false end
		if found.rank and found.rank == rank and not (mine and L.token == found.token and call('ZCARD', level_key(L, L.token)) == 1) then return false end
	end
	return true
end

-- simple reports whether a task of a lane can be taken in a run: it ranks as the lane does, and nothing is to be seen to.
local function simple(t, L)
	if not t or t.corrupt or t.state ~= 'ready' or t.startby or t.suspect or (t.prio or 0) ~= L.prio then return false end
	if (now - t.ready >= T.aged) ~= (L.aged or false) then return false end
	local g = group(t.group)
	return not g or not g.aborting
end

-- start makes a task of a run run: claim_one without what is done for all of them together. It returns what is the same for
-- another one whose record is alike, as of tasks that were submitted in one call; nil if it has to be taken in its turn.
local function start(t, L, claim, first, charge)
	if not simple(t, L) or t.limit and t.charged then return nil end
	local waited = max(now - t.ready, 0)
	t.epoch = (t.epoch or 0) + 1
	t.nonce, t.worker, t.start, t.told = claim.nonce, claim.worker, now, t.asked and true
	t.alone, t.saves, t.reason, t.state, t.charged = first and not claim.company or nil, nil, nil, 'running', charge or t.charged
	if t.timeout then t.deadline = now + floor(t.timeout / 1000) end
	touch(t)
	event(t, 'claimed')
	return { packed = pack_task(t), hist = t.hist, waited = waited, deadline = t.deadline and str(t.deadline) }
end

-- room is how many uncharged tasks may start now under a limit that is open.
local function room(l)
	if not l or not l.set then return CHUNK end
	local n = l.max > 0 and l.max - l.running or CHUNK
	for i, r in ipairs(l.rates or {}) do n = min(n, floor((r.burst - (max(l.tats[i], now) - now)) / r.step)) end
	return max(n, 1)
end

-- take_slots gives so many tasks of a limit their slots, and charges its rates for them.
local function take_slots(l, key, n)
	l.running = l.running + n
	change_limit(key)
	if not l.set then return end
	for i, r in ipairs(l.rates or {}) do l.tats[i] = max(l.tats[i], now) + r.step * n end
end

-- PIECE is how many items a run reads at once: it may have enough after the first.
local PIECE = 20

-- read_items reads what was submitted of some tasks, up to a piece of them.
local function read_items(ids, from, to)
	local keys = {}
	for i = from, min(from + PIECE - 1, to) do keys[#keys + 1] = P .. 'c:' .. ids[i] end
	return call('MGET', unpack(keys))
end

-- start_run makes tasks of a lane run, the first ones up to one that has to be taken in its turn. What is done for all of them together is
-- left to the caller: it returns how many they are, and what of them belongs into indexes. Of the task behind them it returns what was read.
local function start_run(pick, L, ids, n, first)
	local l = L.limit ~= '' and limit(L.limit) or nil
	local charge = l and l.set and l.rates and #l.rates > 0
	local raws, like, gift, submitted = fetch(ids), {}, pick.gift, nil
	local taken, holds, ends, strings, waited = 0, {}, {}, {}, 0
	for i, id in ipairs(ids) do
		if i > n or gift.bytes >= MOUTHFUL then break end
		local raw = tasks[id] == nil and raws[i]
		local shape, next, parent
		if raw then shape, next, parent = alike.shape(raw) end
		local one, hot = raw and like[shape]
		if one then
			hot = alike.cast(one.mould, next, parent)
			local n = #strings
			strings[n + 1], strings[n + 2] = P .. 't:' .. id, hot .. one.hist
			notice_task(id)
		else
			local t = task(id, raw)
			one = start(t, L, pick.claim, first and i == 1, charge)
			if not one then break end
			hot = one.packed
			if raw and i > 1 and t.next == (next or nil) and t.parent == (parent or nil) then
				one.mould = alike.mould(hot, t.next, t.parent)
				like[shape] = one.mould and one
			end
		end
		taken, waited = i, waited + one.waited
		if one.deadline then
			local n = #ends
			ends[n + 1], ends[n + 2] = one.deadline, id
		end
		holds[2 * i - 1], holds[2 * i] = '0', id
		if (i - 1) % PIECE == 0 then submitted = read_items(ids, i, min(n, #ids)) end
		gifts.add(gift, id, hot, submitted[(i - 1) % PIECE + 1])
	end
	if taken > 0 and l then take_slots(l, L.limit, taken) end
	batch('MSET', nil, strings)
	return taken, waited, holds, ends, raws[taken + 1]
end

-- take_run takes up to n tasks of a lane at once, as so many turns would; 0 if turns have to be taken. Where a run was short the next one
-- looks at no more tasks than that: what it reads and cannot take is read again.
local function take_run(pick, L, n, only)
	local worker = pick.claim.worker
	if L.ordered or not only and not sole(L, pick.claim.kinds) then return 0 end
	n = min(n, L.look or CHUNK, room(L.limit ~= '' and limit(L.limit) or nil))
	local members, ids = call('ZRANGE', ready_key(L), '0', str(n)), {} -- one more: it may be the next head
	for i, m in ipairs(members) do ids[i] = sub(m, -16) end
	local first = held_count(worker) == 0
	local taken, waited, holds, ends, raw = start_run(pick, L, ids, n, first)
	L.look = taken == min(n, #ids) and min(4 * (L.look or CHUNK), CHUNK) or max(taken, 1)
	if taken == 0 then return 0 end
	company(worker)
	if first then
		call('SADD', P .. 'holders', worker)
		if taken > 1 then
			local t = task(ids[1])
			t.alone = nil
			change(t)
		end
	end
	held[worker] = held[worker] + taken
	local head = members[taken + 1] or false
	for i = #members, taken + 1, -1 do members[i] = nil end
	batch('ZREM', ready_key(L), members)
	add_many(P .. 'held:' .. worker, holds, held[worker])
	add_many(P .. 'overdue', ends, held[worker])
	stat(L, 'claimed', taken)
	stat(L, 'waited', waited)
	tally(L.queue, 'ready', -taken)
	tally(L.queue, 'running', taken)
	next_head(L, head, raw)
	return taken
end

-- only_lane returns the lane of a queue that has no other, if a claim can take from it as it stands: every turn is then its own.
local function only_lane(queue, names, kinds)
	local L = #names == 1 and lane_of(queue, names[1])
	if not L or L.place ~= 'level' or L.ordered or (now - L.since >= T.aged) ~= (L.aged or false) then return nil end
	for _, kind in ipairs(kinds) do
		if kind == L.kind then return not blocked(L) and L or nil end
	end
	return nil
end

-- take_turns takes up to n tasks of a queue, lane by lane in turn.
local function take_turns(pick, q, only)
	local kinds, cursor, left, n = pick.claim.kinds, q.cursor or '', q.left or 0, q.slots
	local L
	while n > 0 do
		if only and only.gone then return end
		if only and L and blocked(only) then only = nil end
		L = only or best(q.queue, kinds, cursor, left > 0)
		if not L then return end
		local full = weight(L)
		local share = left > 0 and L.name == cursor and min(left, full) or full
		local taken = take_run(pick, L, n, only)
		-- A run that was cut short may have left the rest of a turn.
		local rest = taken == 0 and share or (share - taken) % full
		if taken < n and rest > 0 then taken = taken + take_turn(pick, L, min(n - taken, rest)) end
		if taken > 0 then
			cursor, left = L.name, 0
			-- What the end of the claim cut short goes on with the next. A run may have been several turns.
			if taken == n then left = (share - taken) % full end
			pick.cursors[q.queue] = cursor
			pick.lefts[q.queue] = left > 0 and left or nil
		end
		n = n - taken
		if pick.ends <= 0 or pick.gift.bytes >= MOUTHFUL then
			pick.more = true
			return
		end
	end
	if pick.more or only and only.gone then return end
	pick.more = L and not L.gone and not blocked(L) or best(q.queue, kinds, cursor) ~= nil
end

local function take_queue(pick, q)
	local names = call('ZRANGE', P .. 'names:' .. q.queue, '0', '1')
	if #names == 0 then
		pick.free[q.queue] = true
		return
	end
	local only = only_lane(q.queue, names, pick.claim.kinds)
	if only and only.limit == '' then pick.free[q.queue] = true end
	if not only then
		reage(q.queue)
		waken(q.queue, pick.claim.kinds)
	end
	deferred = {}
	take_turns(pick, q, only)
	undefer()
end

-- take_suspects takes suspects alone. A solo one comes without company, and only to a worker that holds nothing.
local function take_suspects(pick)
	local free, n = held_count(pick.claim.worker) == 0 and not pick.claim.company, pick.claim.suspects
	for _, q in ipairs(pick.claim.queues) do
		deferred = {}
		for _, kind in ipairs(pick.claim.kinds) do
			for _, name in ipairs(call('ZRANGE', kind_key('suspects', q.queue, kind), 0, 999)) do
				local L = lane_of(q.queue, name)
				while L and n > 0 and not L.gone and pick.ends > 0 and not blocked(L) do
					local t = task(head_id(L))
					if t.solo and (not free or #pick.gift.ids > 0) then break end -- its turn comes when nothing else is held
					if fit(pick, t, L) then
						claim_one(t, pick.claim, pick.gift)
						n = n - 1
						if t.solo then return undefer() end
					end
				end
			end
		end
		undefer()
	end
end

-- sooner returns the earlier of two times, of which either may be missing.
local function sooner(a, b)
	if not a or b and b < a then return b end
	return a
end

-- rate_opens tells when the first rate opens of the lanes that a claim serves. The few lanes of a small queue are looked at
-- one by one; of others it is known once a claim has met them shut.
local FEW = 32

local function rate_opens(queue, kinds)
	local at
	for _, kind in ipairs(kinds) do
		local names = call('ZRANGEBYLEX', P .. 'names:' .. queue, '[' .. kind .. '\0', '(' .. kind .. '\1', 'LIMIT', 0, FEW + 1)
		if #names <= FEW then
			for _, name in ipairs(names) do
				local L = not name:find('^[^%z]*%z[^%z]*%z%z') and lane_of(queue, name) -- only one with a limit has a rate
				local opens_at = L and opens(L.limit, L.charged)
				if opens_at and opens_at < NEVER then at = sooner(at, opens_at) end
			end
		else
			local first = call('ZRANGEBYSCORE', kind_key('wait', queue, kind), '(' .. str(now), '(+inf', 'WITHSCORES', 'LIMIT', 0, 1)
			at = sooner(at, tonumber(first[2]))
		end
	end
	return at
end

-- next_claim tells when it is worth to claim again. A queue that was found free of limits is so still, if the claim has ended nothing.
local function next_claim(claim, pick)
	local at = next_due()
	for _, q in ipairs(claim.queues) do
		if not pick.free[q.queue] or pick.ends < CHUNK then at = sooner(at, rate_opens(q.queue, claim.kinds)) end
	end
	if pauses() then
		local pause = call('ZRANGEBYSCORE', P .. 'pauseends', '(' .. str(now), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
		at = sooner(at, tonumber(pause[2]))
	end
	return at and at - now
end

run_claim = function(claim)
	if not alive(claim.worker) then return dead(claim.worker) end
	if claim.again then return gifts.hand({ again = true }, repeated(claim)) end
	local gift = gifts.new()
	local pick = { claim = claim, gift = gift, cursors = {}, lefts = {}, free = {}, ends = CHUNK }
	local more = promote_due(CHUNK) == CHUNK
	if claim.suspects then
		take_suspects(pick)
	else
		for _, q in ipairs(claim.queues) do
			if pick.gift.bytes < MOUTHFUL then take_queue(pick, q) end
		end
	end
	-- Each as the whole step leaves it: an end further on may have woken it.
	for i, id in ipairs(gift.ids) do
		local t = tasks[id]
		if t then gift.hots[i] = pack_task(t) end
	end
	local res = { cursors = pick.cursors, lefts = pick.lefts, again = (pick.more or more) and true or nil, next = next_claim(claim, pick) }
	return gifts.hand(res, gift)
end

end
