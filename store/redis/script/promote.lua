-- flags: allow-oom
-- uses: promote
-- Promote does a chunk of what time has made ripe.
-- takes {limit}, returns {expired, due, freed, aborted, marked, more, next}
-- keeps: it does at most what it was asked for.
local n = req.limit
local res = { freed = 0, aborted = 0, marked = 0 }
res.expired = expire_starts(n)
n = n - res.expired
res.due = n > 0 and promote_due(n) or 0
n = n - res.due
while n > 0 do
	local id = call('ZRANGE', P .. 'ripe', '0', '0')[1]
	if not id then break end
	local g = group(id)
	local freed, aborted, marked = 0, 0, 0
	if g then freed, aborted, marked = tend(g, n) end
	res.freed, res.aborted, res.marked = res.freed + freed, res.aborted + aborted, res.marked + marked
	n = n - freed - aborted - marked
	if not g or not is_ripe(g) or freed + aborted + marked == 0 then
		call('ZREM', P .. 'ripe', id)
		if g then
			g.queued = nil
			dirty_groups[id] = g
		end
	end
end
res.more = due_now() or nil
local at = tonumber(call('ZRANGE', P .. 'due', '0', '0', 'WITHSCORES')[2])
res.next = at and at - now
return answer(res)
