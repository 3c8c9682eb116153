-- flags: none
-- Submit stores tasks and groups, and may claim the tasks for the submitter.
-- takes {groups = {{id, item, seal}}, specs = {{id, item}}, claim}, returns {specs = {...}, tasks, claimerr}
-- keeps: an item that is refused changes nothing, and the others stand. Without room it is refused as a whole.
local res = { specs = {} }
for _, g in ipairs(req.groups) do create_group(g) end
for i, s in ipairs(req.specs) do res.specs[i] = submit_item(s[1], unpack_(s[2]), s[2], false) end
for _, g in ipairs(req.groups) do
	if g.seal and req.last then seal(group(g.id)) end
end

local function claim_submitted(claim)
	if not alive(claim.worker) then
		res.claimerr = dead(claim.worker)
		return
	end
	if claim.again then
		res.tasks = repeated(claim)
		return
	end
	res.tasks = {}
	for i, s in ipairs(req.specs) do
		local t = task(s[1])
		if not res.specs[i].err and t and t.state == 'ready' and not t.suspect then
			local L = lane_of(t.queue, lane_name(t, false))
			local line = L.ordered and call('ZRANGE', P .. 'line:' .. line_name(t), '0', '0')[1]
			if not blocked(L) and (not line or line == t.id and not breaks.met(t)) then
				res.tasks[#res.tasks + 1] = claim_one(t, claim)
				res.specs[i].state = 'running'
			end
		end
	end
end

if req.claim then claim_submitted(req.claim) end
return answer(res)
