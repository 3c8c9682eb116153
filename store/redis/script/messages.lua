-- flags: no-writes
-- Messages lists those of a task that were not consumed.
-- takes {id}, returns {list = {id, message, …}} or {err}
-- keeps: it changes nothing; the caller puts them into the order they came in.
if not task(req.id) then return pack(bad('notfound', 'task ' .. uuid(req.id))) end
return pack({ list = call('HGETALL', P .. 'i:' .. req.id) })
