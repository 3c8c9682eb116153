-- flags: allow-oom
-- Prune removes terminal tasks and groups that have expired, and statistics that are too old.
-- takes {limit, stats}: stats is for how many microseconds those are kept; returns {removed}
-- keeps: nothing that is not terminal is ever removed.
local removed = 0
for _, id in ipairs(call('ZRANGEBYSCORE', P .. 'expiry', '-inf', str(now), 'LIMIT', 0, req.limit)) do
	local t = task(id)
	if t and terminal(t.state) then
		remove(t)
		removed = removed + 1
	else
		call('ZREM', P .. 'expiry', id)
	end
end
local left = req.limit - removed
local bare = left > 0 and call('ZRANGEBYSCORE', P .. 'bare', '-inf', str(now), 'LIMIT', 0, left) or {}
for _, id in ipairs(bare) do
	call('ZREM', P .. 'bare', id)
	local g = group(id)
	if g then
		g.bare = nil
		dirty_groups[id] = g
		if g.state == 'closed' and g.expiring and g.records == 0 then
			g.removed = true
			call('DEL', P .. 'g:' .. id, P .. 'gc:' .. id, P .. 'stages:' .. id, P .. 'members:' .. id)
			call('ZREM', P .. 'groups', id)
			call('ZREM', P .. 'ripe', id)
			removed = removed + 1
		end
	end
end
left = req.limit - removed
local before = '(' .. str(floor((now - req.stats + 59999999) / 60000000)) -- minutes that began before that instant
local old = left > 0 and call('ZRANGEBYSCORE', P .. 'minutes', '-inf', before, 'LIMIT', 0, left) or {}
for _, minute in ipairs(old) do
	call('DEL', P .. 'stat:' .. minute)
	call('ZREM', P .. 'minutes', minute)
	removed = removed + 1
end
return answer({ removed = removed })
