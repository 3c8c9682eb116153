-- flags: allow-oom
-- PutLimit sets a limit and returns the one that stood before.
-- takes {key, conf (as it is read), max, rates = {{name, step, burst}}}, returns {before (conf)}
-- keeps: what runs is counted on; a rate that stays is not opened by being set again.
local l = limit(req.key)
local before = l.set and l.conf or ''
local tats = {}
for i, r in ipairs(req.rates) do
	tats[i] = 0
	for j, old in ipairs(l.rates or {}) do
		if old.name == r.name then
			tats[i] = l.tats[j]
			break
		end
	end
end
l.conf, l.max, l.rates, l.tats = req.conf, req.max, req.rates, tats
l.set = (req.max > 0 or #req.rates > 0) or nil
if l.set then call('ZADD', P .. 'limits', '0', req.key) else call('ZREM', P .. 'limits', req.key) end
change_limit(req.key)
for _, both in ipairs(call('SMEMBERS', P .. 'shut:' .. req.key)) do unpark_named(both) end
call('DEL', P .. 'shut:' .. req.key)
call('SREM', P .. 'reopened', req.key)
notice_all()
return answer({ before = before })
