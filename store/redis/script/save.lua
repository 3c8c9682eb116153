-- flags: allow-oom
-- Save writes entries, progress and the consumption of messages, under the fence.
-- takes {fence, seq, entries, prog, consume}, returns {asked} or {err}
-- keeps: nothing of it is written under another fence, or after a later save.
local t = task(req.fence.id)
if not holds(t, req.fence) then return answer(fenced(req.fence)) end
if t.staged then
	settle_staged(t)
	return answer(fenced(req.fence))
end
if req.seq and req.seq < (t.saves or 0) then
	local refused = bad('changed', fmt('save %s of task %s comes after save %s', str(req.seq), uuid(t.id), str(t.saves)))
	refused.asked = t.asked
	return answer(refused)
end
if req.seq then t.saves = max(t.saves or 0, req.seq) end
set_entries(t, req.entries)
consume(t, req.consume)
if req.prog then t.prog, t.progat = req.prog, now end
if next(req.entries) then absolve(t) end
touch(t)
return answer({ asked = t.asked })
