-- Ending many runs that are alike. Most runs end as done, of a task that nothing else hangs on but its group, or but a limit, a parent and a task
-- that follows. What their ends take out of indexes, and put into them, is written at once: nothing here reads it before.
local complete_all

do -- Lua bounds how many names one scope may have

local STRIDE = 4 -- of what a request tells of a run: id, epoch, nonce, and its outcome: false for done, a text for done with that result

local unheld, undue, expiring, strings, sums, staged, freed
local follows -- what has ended that is followed, or has a parent: see lib_follow.lua
local awaken  -- parents that are still to be told
local like -- what became of records, by their shape: tasks that were claimed in one call are often alike
local seen -- ids that have been in this call

local function forget()
	unheld, undue, expiring, strings, sums, staged, freed, follows, awaken, like = {}, {}, {}, {}, {}, {}, {}, {}, {}, {}
end

local function unbound(t)
	return not (t.staged or t.asked or t.key or t.order or t.startby or t.keeps or t.group and (t.parent or t.next))
		and (t.inbox or 0) == 0 and (t.group or (t.keep or 0) ~= 0)
end

-- sum_of is what is counted of a queue and kind.
local function sum_of(t)
	local kinds = sums[t.queue] or {}
	local sum = kinds[t.kind] or { queue = t.queue, kind = t.kind, done = 0, ran = 0 }
	sums[t.queue], kinds[t.kind] = kinds, sum
	return sum
end

-- finish_plain is settle for such a one, without its indexes. It returns what is the same for another whose record is alike.
local function finish_plain(t, result)
	local one = {
		epoch = t.epoch, nonce = t.nonce, worker = t.worker, overdue = t.deadline, sum = sum_of(t), ran = max(now - t.start, 0),
		result = result and true, group = group(t.group) and t.group, stage = t.stage, limit = t.limit,
	}
	event(t, 'ended')
	t.sepoch, t.snonce, t.skind = t.epoch, t.nonce, 'done'
	t.worker, t.nonce, t.deadline, t.alone, t.err, t.reason = nil, nil, nil, nil, nil, nil
	t.state, t.ended, t.result = 'done', now, one.result or t.result
	if one.group then
		t.stage = ENDED
	elseif not t.group and not t.next and t.keep > 0 then
		t.expire = now + max(floor(t.keep / 1000), T.horizon)
		one.expire = str(t.expire)
	end
	touch(t)
	one.hist, one.mould = t.hist, alike.mould(pack_task(t), t.next, t.parent)
	return one
end

-- index_member notes that a member of a group has ended.
local function index_member(id, one)
	local g = staged[one.group]
	if not g then
		g = { list = {}, from = {} }
		staged[one.group] = g
	end
	local n = #g.list
	g.list[n + 1], g.list[n + 2] = ENDED, id
	if one.stage then g.from[one.stage] = (g.from[one.stage] or 0) + 1 end
end

-- index notes what the end of a task changes beside its record.
local function index(id, one, result, next, parent)
	local list = unheld[one.worker]
	if not list then
		list = {}
		unheld[one.worker] = list
	end
	list[#list + 1] = id
	if one.overdue then undue[#undue + 1] = id end
	if one.expire then
		local n = #expiring
		expiring[n + 1], expiring[n + 2] = one.expire, id
	end
	if result then
		local n = #strings
		strings[n + 1], strings[n + 2] = P .. 'r:' .. id, result
	end
	if one.group then index_member(id, one) end
	if one.limit then freed[one.limit] = (freed[one.limit] or 0) + 1 end
	if next or parent then
		follows[#follows + 1] = { id = id, next = next, parent = parent }
		if parent then awaken[parent] = true end
	end
	local sum = one.sum
	sum.done, sum.ran = sum.done + 1, sum.ran + one.ran
end

-- close_members counts members of a group that have ended.
local function close_members(id, ended)
	local g, n = group(id), #ended.list / 2
	for stage, m in pairs(ended.from) do count_stage(g, stage, -m) end
	count_stage(g, ENDED, n)
	g.done, g.ver = g.done + n, (g.ver or 0) + n - 1
	change_group(g)
	batch('ZADD', P .. 'stages:' .. id, ended.list)
	try_close(g)
	ripen(g)
end

local function flush_plain()
	if not next(sums) then return end
	for worker, list in pairs(unheld) do
		batch('ZREM', P .. 'held:' .. worker, list)
		if held[worker] then held[worker] = held[worker] - #list end
	end
	batch('ZREM', P .. 'overdue', undue)
	batch('ZADD', P .. 'expiry', expiring)
	batch('MSET', nil, strings)
	for queue, kinds in pairs(sums) do
		for _, sum in pairs(kinds) do
			stat(sum, 'ran', sum.ran)
			stat(sum, 'done', sum.done)
			tally(queue, 'running', -sum.done)
		end
	end
	for id, ended in pairs(staged) do close_members(id, ended) end
	for key, n in pairs(freed) do give_back(key, n) end
	follow_all(follows)
	forget()
end

local function complete(fence, out)
	flush_plain()
	local t = task(fence.id)
	if not t or t.corrupt then return fenced(fence) end
	if not holds(t, fence) then
		if t.sepoch == fence.epoch and t.snonce == fence.nonce and t.skind == out.kind then
			return { state = seen_as(t), repeated = true }
		end
		local refused = fenced(fence)
		refused.state = seen_as(t)
		return refused
	end
	if t.staged then
		settle_staged(t)
	else
		local refused = valid(out)
		if refused then
			refused.state = seen_as(t)
			return refused
		end
		settle(t, out)
	end
	t.skind = out.kind
	change(t)
	return { state = t.state }
end

-- complete_done is complete for what is mostly so; nil: it is not so here, and nothing was done. What comes twice is not.
local function complete_done(id, epoch, nonce, result, key, raw)
	if not raw or seen[id] or tasks[id] ~= nil or awaken[id] then return nil end
	seen[id] = true
	local shape, next, parent = alike.shape(raw)
	local one = like[shape]
	if one and one.epoch == epoch and one.nonce == nonce and one.result == (result and true) then
		local n = #strings
		strings[n + 1], strings[n + 2] = key, alike.cast(one.mould, next, parent) .. one.hist
		notice_task(id)
		index(id, one, result, next, parent)
		return true
	end
	local t = task(id, raw)
	if t.corrupt or t.state ~= 'running' or t.epoch ~= epoch or t.nonce ~= nonce or not unbound(t) then return nil end
	one = finish_plain(t, result)
	index(id, one, result, t.next, t.parent)
	if one.mould and t.next == (next or nil) and t.parent == (parent or nil) then like[shape] = one end
	return true
end

-- complete_all ends runs. It returns what became of those that did not end as done: their number, and an answer, in turn.
complete_all = function(runs)
	local odd, keys = {}, {}
	forget()
	seen = {}
	for r = 1, #runs, STRIDE do keys[#keys + 1] = P .. 't:' .. runs[r] end
	local raws = #keys > 0 and call('MGET', unpack(keys)) or {}
	for i, key in ipairs(keys) do
		local r = (i - 1) * STRIDE + 1
		local id, epoch, nonce, out = runs[r], runs[r + 1], runs[r + 2], runs[r + 3]
		local done = type(out) ~= 'table' and complete_done(id, epoch, nonce, out or nil, key, raws[i])
		if not done then
			if type(out) ~= 'table' then out = { kind = 'done', result = out or nil } end
			local n = #odd
			odd[n + 1], odd[n + 2] = i - 1, complete({ id = id, epoch = epoch, nonce = nonce }, out)
		end
	end
	flush_plain()
	return odd
end

end
