-- flags: allow-oom
-- Cancel ends a task that waits, and asks one that runs.
-- takes {id, reason}, returns {state} or {err}
-- keeps: a task that has ended is left as it is.
local t = task(req.id)
if not t then return answer(bad('notfound', 'task ' .. uuid(req.id))) end
if t.corrupt then return answer(bad('state', 'task ' .. uuid(req.id) .. ' cannot be read; it fails as corrupt with the next pass')) end
ask(t, req.reason)
return answer({ state = seen_as(t) })
