-- flags: allow-oom
-- Complete ends runs by their outcomes, and may claim in the same call.
-- takes {items = {{fence, out}}, claim}, returns {items = {state or {state, repeated, err}}, claim}
-- keeps: an outcome is applied under its fence alone, as a whole or not at all.

-- Most runs end as done, of a task that nothing else hangs on. What their ends take out of indexes, and put into them, is
-- written at once when all items are done: nothing here reads it before.
local unheld, undue, expiring, strings, sums = {}, {}, {}, {}, {}
local like = {} -- what became of records, by what they were: tasks that were claimed in one call are often the same but for the id

local function plain(out)
	return out.kind == 'done' and not (out.bad or out.entries or out.consume or out.prog or out.groups or out.follow)
end

local function unbound(t)
	return not (t.staged or t.asked or t.group or t.parent or t.next or t.key or t.limit or t.order or t.startby or t.keeps)
		and (t.inbox or 0) == 0 and (t.keep or 0) ~= 0
end

-- sum_of is what is counted of a queue and kind.
local function sum_of(t)
	local kinds = sums[t.queue] or {}
	local sum = kinds[t.kind] or { queue = t.queue, kind = t.kind, done = 0, ran = 0 }
	sums[t.queue], kinds[t.kind] = kinds, sum
	return sum
end

-- finish_plain is settle for such a one, without its indexes. It returns what is the same for another with the same record.
local function finish_plain(t, out)
	local one = {
		epoch = t.epoch, nonce = t.nonce, worker = t.worker, overdue = t.deadline, sum = sum_of(t), ran = max(now - t.start, 0),
		reason = out.reason, result = out.result and true,
	}
	event(t, 'ended', out.reason)
	t.sepoch, t.snonce, t.skind = t.epoch, t.nonce, 'done'
	t.worker, t.nonce, t.deadline, t.alone, t.err = nil, nil, nil, nil, nil
	t.state, t.reason, t.ended, t.result = 'done', out.reason, now, one.result or t.result
	if t.keep > 0 then
		t.expire = now + max(floor(t.keep / 1000), T.horizon)
		one.expire = str(t.expire)
	end
	touch(t)
	one.text = pack_task(t) .. t.hist
	return one
end

-- index notes what the end of a task changes beside its record.
local function index(id, one, out)
	local list = unheld[one.worker] or {}
	unheld[one.worker], list[#list + 1] = list, id
	if one.overdue then undue[#undue + 1] = id end
	if one.expire then
		local n = #expiring
		expiring[n + 1], expiring[n + 2] = one.expire, id
	end
	if out.result then
		local n = #strings
		strings[n + 1], strings[n + 2] = P .. 'r:' .. id, out.result
	end
	local sum = one.sum
	sum.done, sum.ran = sum.done + 1, sum.ran + one.ran
end

-- same_as ends a task as another one with the same record was ended, if that can be.
local function same_as(one, fence, out)
	if one.epoch ~= fence.epoch or one.nonce ~= fence.nonce or one.reason ~= out.reason or one.result ~= (out.result and true) then
		return false
	end
	local id, n = fence.id, #strings
	strings[n + 1], strings[n + 2] = P .. 't:' .. id, one.text
	notice_task(id)
	index(id, one, out)
	return true
end

local function flush_plain()
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
	unheld, undue, expiring, strings, sums, like = {}, {}, {}, {}, {}, {}
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
	return t.state
end

-- complete_plain is complete for what is mostly so. What is not is left to it, and so is what comes twice.
local seen = {}

local function complete_plain(fence, out, raw)
	local id = fence.id
	if not raw or seen[id] or tasks[id] ~= nil or not plain(out) then return complete(fence, out) end
	seen[id] = true
	if like[raw] and same_as(like[raw], fence, out) then return 'done' end
	local t = task(id, raw)
	if not holds(t, fence) or not unbound(t) then return complete(fence, out) end
	local one = finish_plain(t, out)
	index(id, one, out)
	like[raw] = one
	return 'done'
end

local res, ids = { items = {} }, {}
for i, item in ipairs(req.items) do ids[i] = item[1].id end
local raws = fetch(ids)
for i, item in ipairs(req.items) do res.items[i] = complete_plain(item[1], item[2], raws[i]) end
flush_plain()
if req.claim then res.claim = run_claim(req.claim) end
return answer(res)
