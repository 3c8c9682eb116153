-- flags: allow-oom
-- Resume ends the pause of exactly this scope.
-- takes {scope}, returns {}
-- keeps: there need not be one.
if call('HDEL', P .. 'pauses', req.scope) == 1 then
	call('ZREM', P .. 'pauseends', req.scope)
	for _, both in ipairs(call('SMEMBERS', P .. 'paused')) do unpark_named(both) end
	notice_all()
end
return answer({})
