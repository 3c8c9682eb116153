-- flags: allow-oom
-- LaneList pages through the lanes of a queue that have ready tasks, by name.
-- takes {queue, after, limit}, returns {list = {{name, ready, priority, since, weight, blocked}}}
-- keeps: it changes nothing but rates that the clock does not allow.
local list = {}
for _, name in ipairs(call('ZRANGEBYLEX', P .. 'names:' .. req.queue, req.after == '' and '-' or '(' .. req.after, '+', 'LIMIT', 0, req.limit)) do
	local L = lane_of(req.queue, name)
	if L then
		local why = blocked(L)
		list[#list + 1] = { name, call('ZCARD', ready_key(L)), L.prio, L.since, weight(L), why or '' }
	end
end
return answer({ list = list })
