-- flags: allow-oom
-- Stage writes an outcome as ended, unsettled.
-- takes {fence, out, raw}, returns {} or {err}
-- keeps: it is settled once, by whoever comes next.
local t = task(req.fence.id)
if not holds(t, req.fence) then return answer(fenced(req.fence)) end
if t.staged then return answer(bad('state', 'task ' .. uuid(t.id) .. ': an outcome is staged already')) end
local refused = valid(req.out)
if refused then return answer(refused) end
t.staged = req.raw
touch(t)
return answer({})
