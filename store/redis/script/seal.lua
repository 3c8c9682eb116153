-- flags: allow-oom
-- Seal says that all first members of a group are there.
-- takes {id}, returns {group, item} or {err}
-- keeps: repeating it has no effect.
local g = group(req.id)
if not g then return answer(bad('notfound', 'group ' .. uuid(req.id))) end
if not g.sealed then seal(g) end
flush()
return pack({ group = call('GET', P .. 'g:' .. req.id), item = call('GET', P .. 'gc:' .. req.id) })
