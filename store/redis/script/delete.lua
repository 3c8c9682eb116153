-- flags: allow-oom
-- Delete removes a terminal task and all that belongs to it.
-- takes {id}, returns {} or {err}
-- keeps: a group keeps its counts.
local t = task(req.id)
if not t then return answer(bad('notfound', 'task ' .. uuid(req.id))) end
if not terminal(t.state) then return answer(bad('state', 'delete task ' .. uuid(t.id) .. ', which is ' .. seen_as(t))) end
remove(t)
return answer({})
