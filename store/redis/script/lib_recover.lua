-- Taking tasks from workers that are dead, have left, or do not end a run.

-- spend counts a failed attempt that no handler told of.
local function spend(t, err)
	t.tries = (t.tries or 0) + 1
	t.err, t.charged = err, nil
	local item = cold(t.id)
	if t.tries < max(item.max or 0, 1) then
		local base, factor = item.base or 0, item.factor or 0
		if base <= 0 then return make_ready(t) end
		if factor < 1 then factor = 2 end
		local most = (item.cap or 0) > 0 and item.cap or 4611686018427387903
		return wait(t, min(base * factor ^ (t.tries - 1), most))
	end
	if t.owned then
		t.reason = 'attempts'
		event(t, 'held', 'attempts')
		return move(t, 'held')
	end
	finish(t, 'failed', 'attempts', nil, err)
end

-- take_back decides what becomes of a task whose run was cut short.
local function take_back(t, w, crash)
	local suspect = t.suspect
	if crash then
		t.crashes, t.run = (t.crashes or 0) + 1, (t.run or 0) + 1
		event(t, 'crashed', w.death)
		stat(t, 'crashed')
	else
		event(t, 'recovered', w.death)
	end
	-- Judged once it is in no lane: what it is a suspect of now is not what it ran as.
	if crash then judge(t) end
	local convicted = crash and suspect and t.alone and (w.heldat or 0) <= 1
	if overruled(t) then
		if not t.owned then return finish(t, 'cancelled', t.asked) end
		return make_ready(t)
	end
	if convicted and t.owned then
		t.err, t.reason = req.crashed, 'crashed'
		event(t, 'held', 'crashed')
		return move(t, 'held')
	end
	if convicted then return finish(t, 'failed', 'crashed', nil, req.crashed) end
	if crash and cold(t.id).spends then return spend(t, req.crashed) end
	t.solo = (t.solo or crash and suspect) and true or nil
	move(t, 'ready')
end

-- running_of returns a task that a worker holds; nil if the entry is stale, and then it is taken out.
local function running_of(id, worker)
	local t = task(id)
	if t and t.corrupt then
		t.worker = worker
		return t
	end
	if t and t.state == 'running' and t.worker == worker then return t end
	call('ZREM', P .. 'held:' .. worker, id)
	return nil
end

-- put_back takes a task from a worker that is dead or has left.
local function put_back(t, w)
	local r = { id = t.id, kind = t.kind, queue = t.queue, worker = w.id, death = w.death }
	if t.corrupt then
		end_corrupt(t, 'running')
	elseif t.staged then
		r.settled = true
		settle_staged(t)
	else
		local crash = w.death == 'proof' or w.death == 'gone' or w.death == 'silence' and (w.remote or not req.evidence)
		r.crash = crash or nil
		take_back(t, w, crash)
	end
	r.state, r.reason = t.state, t.reason
	return r
end
