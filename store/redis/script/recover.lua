-- flags: allow-oom
-- uses: fleet recover
-- Recover declares the dead and puts a chunk of their tasks back.
-- takes {worker, limit, force, evidence, run, gone = {worker = cid}, here = {worker = cid}, crashed, stuck (errors)}
-- returns {gated, dead = {…}, tasks = {…}, buried, more, next}
-- keeps: dead is one mark, before any task is touched; each task is put back once. What was seen of sessions counts only for
-- the session that stands in the record.
local by = req.worker ~= '' and read_worker(req.worker)
if by and (by.dead or not by.cid or by.run ~= req.run or req.here[by.id] ~= by.cid) then by = nil end

local function pass_gate()
	local since = by and by.since or NEVER
	local last = call('HMGET', P .. 'state', 'passed', 'passedby')
	local ago = now - tonumber(last[1] or 0)
	if not req.force and ago >= 0 and ago < T.recoverevery and since >= tonumber(last[2] or NEVER) then return false end
	call('HSET', P .. 'state', 'passed', str(now), 'passedby', str(since))
	return true
end

-- gone_for reports whether a session that is gone shows that its worker is. One that went with everybody else's shows nothing.
local function gone_for(w, silent)
	if not w.cid or w.run ~= req.run then return false end
	if req.here[w.id] == w.cid then
		w.gone, w.vouched = nil, nil
		call('HSET', P .. 'seen', w.id, str(now))
		return false
	end
	if req.gone[w.id] ~= w.cid then return false end
	w.gone = w.gone or now
	if not by then return false end
	local older = by.since < max(w.at, min(tonumber(call('HGET', P .. 'seen', w.id) or 0), now))
	w.vouched = w.vouched or older or nil
	-- What an older one has seen a younger one may act on, once it has stood for long enough to hear a beat of the victim's.
	local heard = w.vouched and now - by.since >= every(w)
	return (older or heard) and silent >= T.goneafter and w.at <= w.gone and now - w.gone >= every(w)
end

-- verdict says how a living worker is found to be dead; nil: it is not.
local function verdict(w)
	if w.at > now then
		w.at = now
		call('ZADD', P .. 'beats', str(now), w.id)
	end
	local silent = now - w.at
	if req.evidence and gone_for(w, silent) then return 'gone' end
	local pulse = call('HMGET', P .. 'state', 'since', 'last')
	local since, last = tonumber(pulse[1] or 0), tonumber(pulse[2] or 0)
	local whole = now - last <= w.deadafter / 3 and last - since >= w.deadafter and last <= now
	if silent >= w.deadafter and whole then return 'silence' end
	return nil
end

local res = { dead = {}, tasks = {}, buried = 0 }

local function judge_worker(id)
	local w = read_worker(id)
	if w == nil then
		call('ZREM', P .. 'workers', id)
		call('ZREM', P .. 'beats', id)
		call('ZREM', P .. 'alive', id)
		return
	end
	if not w then -- it cannot be read, so it cannot beat either
		w = { id = id, beat = 0, deadafter = 0, joined = now, at = now }
		die(w, 'silence')
		res.dead[#res.dead + 1] = { id, call('GET', P .. 'w:' .. id) }
		return
	end
	if w.dead then return end
	local at, gone, vouched = w.at, w.gone, w.vouched
	local how = verdict(w)
	if how then
		die(w, how)
		res.dead[#res.dead + 1] = { id, call('GET', P .. 'w:' .. id) }
		return
	end
	if w.at ~= at or w.gone ~= gone or w.vouched ~= vouched then write_worker(w) end
	if w.gone then res.next = max(every(w) - (now - w.gone), T.goneafter - (now - w.at), 1000) end
end

-- candidates are the living that may be dead: all of a small fleet, of a large one those that have not beaten for longest, and
-- those whose beat lies in the future since the clock was stepped back.
local function candidates()
	if call('ZCARD', P .. 'workers') <= 1000 then return call('ZRANGE', P .. 'workers', 0, -1) end
	local ids = call('ZRANGE', P .. 'beats', 0, 999)
	for _, id in ipairs(call('ZRANGEBYSCORE', P .. 'beats', '(' .. str(now), '+inf', 'LIMIT', 0, 1000)) do ids[#ids + 1] = id end
	return ids
end

-- put_back_all puts back what a dead worker holds, as far as the limit goes.
local function put_back_all(w)
	local left = req.limit - #res.tasks
	local ids = call('ZRANGE', P .. 'held:' .. w.id, 0, left)
	for i, id in ipairs(ids) do
		if i > left then
			res.more = true
			return
		end
		local t = running_of(id, w.id)
		if t then res.tasks[#res.tasks + 1] = put_back(t, w) end
	end
end

local function recover_dead()
	for _, id in ipairs(call('ZRANGE', P .. 'dead', 0, 999)) do
		local w = read_worker(id) or { id = id, death = 'silence' }
		put_back_all(w)
		if res.more then return end
	end
	for _, id in ipairs(call('SRANDMEMBER', P .. 'holders', 10)) do
		if call('EXISTS', P .. 'held:' .. id) == 0 then
			call('SREM', P .. 'holders', id)
		elseif call('EXISTS', P .. 'w:' .. id) == 0 then
			put_back_all({ id = id, death = 'silence' })
			if res.more then return end
		end
	end
end

-- take_stuck takes a task from a living owner that is long past the deadline of its attempt.
local function take_stuck(t)
	local r = { id = t.id, kind = t.kind, queue = t.queue, worker = t.worker }
	if t.staged then
		r.settled = true
		settle_staged(t)
	elseif overruled(t) and not t.owned then
		finish(t, 'cancelled', t.asked)
	else
		event(t, 'recovered', 'stuck')
		spend(t, req.stuck)
	end
	r.state, r.reason = t.state, t.reason
	res.tasks[#res.tasks + 1] = r
end

local function recover_stuck()
	local left = req.limit - #res.tasks
	local ids = call('ZRANGEBYSCORE', P .. 'overdue', '-inf', str(now - T.stuckgrace), 'LIMIT', 0, left + 1)
	for i, id in ipairs(ids) do
		if i > left then
			res.more = true
			return
		end
		local t = task(id)
		if t and not t.corrupt and t.state == 'running' and t.deadline then
			take_stuck(t)
		else
			call('ZREM', P .. 'overdue', id)
		end
	end
end

if not pass_gate() then return answer({ gated = true }) end
for _, id in ipairs(candidates()) do judge_worker(id) end
recover_dead()
recover_stuck()
for _, id in ipairs(call('ZRANGE', P .. 'dead', 0, 999)) do
	if call('EXISTS', P .. 'held:' .. id) == 0 then
		bury(id)
		res.buried = res.buried + 1
	end
end
return answer(res)
