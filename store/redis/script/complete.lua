-- flags: allow-oom
-- Complete ends runs by their outcomes, and may claim in the same call.
-- takes {items = {{fence, out}}, claim}, returns {items = {{state, repeated, err}}, claim}
-- keeps: an outcome is applied under its fence alone, as a whole or not at all.
local function complete(fence, out)
	local t = task(fence.id)
	if not t or t.corrupt then return fenced(fence) end
	if not holds(t, fence) then
		if t.sepoch == fence.epoch and t.snonce == fence.nonce and t.skind == out.kind then
			return { state = seen_as(t), repeated = true }
		end
		local refused = fenced(fence)
		refused.state = seen_as(t)
		return refused
	end
	if t.staged then
		settle_staged(t)
	else
		local refused = valid(out)
		if refused then
			refused.state = seen_as(t)
			return refused
		end
		settle(t, out)
	end
	t.skind = out.kind
	change(t)
	return { state = t.state }
end

local res = { items = {} }
for i, item in ipairs(req.items) do res.items[i] = complete(item[1], item[2]) end
if req.claim then res.claim = run_claim(req.claim) end
return answer(res)
