-- flags: allow-oom
-- Free makes a held task ready, its crashes forgotten.
-- takes {id}, returns {} or {err}
-- keeps: one that waits for its group stays where it is.
local t = task(req.id)
if not t then return answer(bad('notfound', 'task ' .. uuid(req.id))) end
if t.state ~= 'held' or t.reason == 'group' then return answer(bad('state', 'free task ' .. uuid(t.id) .. ', which is ' .. seen_as(t))) end
t.crashes, t.run, t.suspect, t.solo = nil, nil, nil, nil
event(t, 'freed')
make_ready(t)
return answer({})
