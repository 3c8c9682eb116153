-- flags: none
-- Send puts a message into a task's inbox and wakes the task.
-- takes {task, id, body (name, body and time as they are read)}, returns {} or {err}
-- keeps: a message id that the task has seen has no effect.
local t = task(req.task)
if not t then return answer(bad('notfound', 'task ' .. uuid(req.task))) end
if call('HEXISTS', P .. 'i:' .. t.id, req.id) == 1 then return answer({}) end
if t.corrupt or terminal(t.state) then return answer(bad('state', 'send to task ' .. uuid(t.id) .. ', which is ' .. t.state)) end
t.sent = (t.sent or 0) + 1
t.inbox = (t.inbox or 0) + 1
call('HSET', P .. 'i:' .. t.id, req.id, be8(t.sent) .. be8(now) .. req.body)
wake(t.id)
return answer({})
