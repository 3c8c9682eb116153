-- flags: none
-- PutSchedule creates a schedule or replaces the one whose version it names.
-- takes {name, version, rule, item, task, nextat (ns), next (µs), live}, returns {record} or {err}
-- keeps: the new version forgets the last tick unless the rule is as before.
local key = P .. 'schedule:' .. req.name
local raw = call('GET', key)
local have = raw and unpack_(raw)
if (have and have.version or 0) ~= req.version then
	return pack(bad('changed', fmt('schedule %s at version %s', req.name, str(req.version))))
end
local s = {
	version = req.version + 1, rule = req.rule, item = req.item, task = req.task, overlap = req.overlap, paused = req.paused, nextat = req.nextat,
	made = now, upd = now,
}
if have then
	s.made, s.lasttask = have.made, have.lasttask
	if have.rule == req.rule then
		s.last = have.last
		if req.next and have.lastat and req.next <= have.lastat then -- a tick has come since the caller looked
			s.nextat, req.next = have.nextat, have.nextmicros
		end
	end
	s.lastat = s.last and have.lastat
end
s.nextmicros = req.next
call('SET', key, pack(s))
call('ZADD', P .. 'schedules', '0', req.name)
if req.next and not req.paused then
	call('ZADD', P .. 'ticks', str(req.next), req.name)
else
	call('ZREM', P .. 'ticks', req.name)
end
return pack({ record = pack(s) })
