-- flags: allow-oom
-- Complete ends runs by their outcomes, and may claim in the same call.
-- takes {items = {{fence, out}}, claim}, returns {items = {state or {state, repeated, err}}, claim}
-- keeps: an outcome is applied under its fence alone, as a whole or not at all.

-- Most runs end as done, of a task that nothing else hangs on. What their ends take out of indexes, and put into them, is
-- written at once when all items are done: nothing here reads it before.
local unheld, undue, expiring, results, sums = {}, {}, {}, {}, {}

local function plain(t, out)
	return out.kind == 'done' and not (out.bad or out.entries or out.consume or out.prog or out.groups or out.follow)
		and not (t.staged or t.asked or t.group or t.parent or t.next or t.key or t.limit or t.order or t.startby or t.keeps)
		and (t.inbox or 0) == 0 and (t.keep or 0) ~= 0
end

-- finish_plain is settle for such a one.
local function finish_plain(t, out)
	local id, worker = t.id, t.worker
	local of = sums[t.queue] or {}
	sums[t.queue] = of
	local sum = of[t.kind] or { queue = t.queue, kind = t.kind, done = 0, ran = 0 }
	of[t.kind], sum.done, sum.ran = sum, sum.done + 1, sum.ran + max(now - t.start, 0)
	event(t, 'ended', out.reason)
	local list = unheld[worker] or {}
	unheld[worker], list[#list + 1] = list, id
	if held[worker] then held[worker] = held[worker] - 1 end
	if t.deadline then undue[#undue + 1] = id end
	t.sepoch, t.snonce, t.skind = t.epoch, t.nonce, 'done'
	t.worker, t.nonce, t.deadline, t.alone, t.err = nil, nil, nil, nil, nil
	t.state, t.reason, t.ended = 'done', out.reason, now
	touch(t)
	if out.result then
		local n = #results
		results[n + 1], results[n + 2] = P .. 'r:' .. id, out.result
		t.result = true
	end
	if t.keep > 0 then
		t.expire = now + max(floor(t.keep / 1000), T.horizon)
		local n = #expiring
		expiring[n + 1], expiring[n + 2] = str(t.expire), id
	end
end

local function flush_plain()
	for worker, list in pairs(unheld) do batch('ZREM', P .. 'held:' .. worker, list) end
	batch('ZREM', P .. 'overdue', undue)
	batch('ZADD', P .. 'expiry', expiring)
	batch('MSET', nil, results)
	for queue, kinds in pairs(sums) do
		for _, sum in pairs(kinds) do
			stat(sum, 'ran', sum.ran)
			stat(sum, 'done', sum.done)
			tally(queue, 'running', -sum.done)
		end
	end
end

local function complete(fence, out)
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
	if plain(t, out) then
		finish_plain(t, out)
		return 'done'
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

local res, ids = { items = {} }, {}
for i, item in ipairs(req.items) do ids[i] = item[1].id end
fetch(ids)
for i, item in ipairs(req.items) do res.items[i] = complete(item[1], item[2]) end
flush_plain()
if req.claim then res.claim = run_claim(req.claim) end
return answer(res)
