-- flags: no-writes
-- Get reads a task with all that belongs to the record.
-- takes {id}, returns {id, task, item, result} or {err}
-- keeps: it changes nothing.
local t = call('GET', P .. 't:' .. req.id)
if not t then return pack(bad('notfound', 'task ' .. uuid(req.id))) end
return pack({ list = { { req.id, t, call('GET', P .. 'c:' .. req.id) or '', call('GET', P .. 'r:' .. req.id) or nil } } })
