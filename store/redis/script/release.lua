-- flags: allow-oom
-- Release ends the hold of a group.
-- takes {id}, returns {group, item} or {err}
-- keeps: repeating it has no effect.
local g = group(req.id)
if not g then return answer(bad('notfound', 'group ' .. uuid(req.id))) end
if g.hold then
	g.hold = nil
	advance(g)
end
flush()
return pack({ group = call('GET', P .. 'g:' .. req.id), item = call('GET', P .. 'gc:' .. req.id) })
