-- flags: allow-oom
-- Abort asks all members of a group to end; Promote settles them in chunks.
-- takes {id, reason}, returns {group, item} or {err}
-- keeps: a closed group is left as it is.
local g = group(req.id)
if not g then return answer(bad('notfound', 'group ' .. uuid(req.id))) end
if g.state ~= 'closed' and not g.aborting then
	g.aborting, g.sealed, g.hold = req.reason, true, nil
	advance(g)
end
flush()
return pack({ group = call('GET', P .. 'g:' .. req.id), item = call('GET', P .. 'gc:' .. req.id) })
