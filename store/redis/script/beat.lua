-- flags: allow-oom
-- uses: promote fleet
-- Beat keeps a worker alive, and answers what it should know.
-- takes {schema, worker, load, queues, kinds (sorted), own, cid, run (the session, if the worker is the caller's own)}, returns {work, ripe, ticks, suspects, asked, every, session} or {err}
-- keeps: a program that is older than the records is not kept alive; a session that is new is only as old as the beat that names it.
local schema = tonumber(call('HGET', P .. 'meta', 'schema') or 0)
if schema > req.schema then return pack(bad('newer', str(schema))) end
local w = read_worker(req.worker)
if not w or w.dead then return pack(dead(req.worker)) end
w.at, w.load, w.gone, w.vouched = now, req.load, nil, nil
if req.own then
	w.session = req.cid and true
	if req.cid ~= w.cid or req.run ~= w.run then w.cid, w.run, w.since = req.cid, req.run, req.cid and now end
end
write_worker(w)
call('ZADD', P .. 'beats', str(now), w.id)

-- The pulse of the fleet: a gap begins it anew, as nobody could beat while the store was away. A clock that is a little behind changes nothing.
local gap = shortest() / 3
local last = tonumber(call('HGET', P .. 'state', 'last') or 0)
if last - now > gap or now - last > gap then
	call('HSET', P .. 'state', 'since', str(now), 'last', str(now))
elseif now > last then
	call('HSET', P .. 'state', 'last', str(now))
end

local res = { every = every(w), session = w.session, ripe = due_now() or nil, asked = {} }
local tick = tonumber(call('ZRANGE', P .. 'ticks', '0', '0', 'WITHSCORES')[2])
res.ticks = tick and tick <= now or nil

local function suspects(queue)
	for _, kind in ipairs(req.kinds) do
		for _, name in ipairs(call('ZRANGE', kind_key('suspects', queue, kind), 0, 999)) do
			local L = lane_of(queue, name)
			if L and not blocked(L) then return true end
		end
	end
	return false
end

for _, queue in ipairs(req.queues) do
	res.work = res.work or best(queue, req.kinds, '') ~= nil
	res.suspects = res.suspects or suspects(queue)
end
if res.suspects then
	local turn = tonumber(call('HGET', P .. 'state', 'suspects') or 0)
	res.suspects = turn > now or now - turn >= w.deadafter
	if res.suspects then call('HSET', P .. 'state', 'suspects', str(now)) end
end
for _, id in ipairs(call('ZRANGE', P .. 'asks:' .. w.id, 0, 999)) do
	local t = task(id)
	if t and t.state == 'running' and t.worker == w.id and t.asked and not t.told then
		res.asked[#res.asked + 1] = { id, t.epoch, t.nonce, t.kind, t.asked }
	end
end
return answer(res)
