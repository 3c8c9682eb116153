-- flags: none
-- Tick submits the task of one tick and advances the schedule in one step.
-- takes {name, version, last (ns), tick (ns), at (µs), later, nextat (ns), next (µs), delay, skip, id, following}
-- returns {task, overlapped} or {err}
-- keeps: one of many drivers wins each tick.
local key = P .. 'schedule:' .. req.name
local raw = call('GET', key)
if not raw then return answer(bad('notfound', 'schedule ' .. req.name)) end
local s = unpack_(raw)
if s.paused or s.version ~= req.version or (s.last or '') ~= req.last then return answer(bad('changed', 'schedule ' .. req.name)) end
if req.at > now or not req.later then
	return answer(bad('invalid', 'the tick of schedule ' .. req.name .. ' lies in the future or not after the last'))
end
local res = {}
local last = task(s.lasttask)
res.overlapped = last and not terminal(last.state) or nil
if not req.skip and (not res.overlapped or (s.overlap or '') ~= '') then
	local item = unpack_(s.task)
	if req.delay > 0 then item.delay = (item.delay or 0) + req.delay end
	item.next = item.onend and req.following or nil
	local sub = submit_item(req.id, item, nil, true)
	if not sub.err then res.task, s.lasttask = sub.id, sub.id end
end
s.last, s.nextat, s.upd = req.tick, req.nextat, now
s.lastat, s.nextmicros = req.at, req.next
call('SET', key, pack(s))
if req.next then call('ZADD', P .. 'ticks', str(req.next), req.name) else call('ZREM', P .. 'ticks', req.name) end
return answer(res)
