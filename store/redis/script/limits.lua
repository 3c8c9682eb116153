-- flags: allow-oom
-- LimitList lists limits and their use, by key.
-- takes {after, limit} or {keys}, returns {list = {{key, conf, running, opens}}}
-- keeps: a rate that the clock does not allow is clamped by whoever meets it, a reader too.
local list = {}
for _, key in ipairs(req.keys or call('ZRANGEBYLEX', P .. 'limits', req.after == '' and '-' or '(' .. req.after, '+', 'LIMIT', 0, req.limit)) do
	local l = limit(key)
	if l.set then
		local at = rates_open(key, l)
		list[#list + 1] = { key, l.conf, l.running, at and at - now or 0 }
	end
end
return answer({ list = list })
