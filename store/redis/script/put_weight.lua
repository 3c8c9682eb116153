-- flags: allow-oom
-- PutWeight sets how many tasks lanes of a queue with this lane key give in a turn.
-- takes {queue, lane, weight}, returns {}
-- keeps: the usual weight is not stored.
if req.weight > 1 then
	call('HSET', P .. 'weights', req.queue .. '\0' .. req.lane, str(req.weight))
else
	call('HDEL', P .. 'weights', req.queue .. '\0' .. req.lane)
end
return pack({})
