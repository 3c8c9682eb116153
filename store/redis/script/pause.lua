-- flags: allow-oom
-- Pause keeps claims away from a scope.
-- takes {scope, reason, time}, returns {}
-- keeps: it replaces a pause of the same scope, and lanes that waited for the end of that one wait for its own.
local p = { reason = req.reason, at = now }
if req.time > 0 then p['until'] = now + floor(req.time / 1000) end
call('HSET', P .. 'pauses', req.scope, pack(p))
if p['until'] then
	call('ZADD', P .. 'pauseends', str(p['until']), req.scope)
else
	call('ZREM', P .. 'pauseends', req.scope)
end
for _, both in ipairs(call('SMEMBERS', P .. 'paused')) do unpark_named(both) end
return answer({})
