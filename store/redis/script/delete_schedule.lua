-- flags: allow-oom
-- DeleteSchedule removes a schedule.
-- takes {name}, returns {}
-- keeps: there need not be one.
call('DEL', P .. 'schedule:' .. req.name)
call('ZREM', P .. 'schedules', req.name)
call('ZREM', P .. 'ticks', req.name)
return pack({})
