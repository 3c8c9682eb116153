-- flags: allow-oom
-- PauseList lists the pauses that stand.
-- takes {}, returns {list = {scope, pause, …}}
-- keeps: a pause that has ended is taken away by the step that lists it.
for _, scope in ipairs(call('ZRANGEBYSCORE', P .. 'pauseends', '-inf', str(now), 'LIMIT', 0, 1000)) do
	call('HDEL', P .. 'pauses', scope)
	call('ZREM', P .. 'pauseends', scope)
end
return pack({ list = call('HGETALL', P .. 'pauses') })
