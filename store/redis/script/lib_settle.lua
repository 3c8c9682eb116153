-- Outcomes: what becomes of a task whose run has ended.

-- holds reports whether a task runs under exactly this fence.
local function holds(t, fence)
	return t and not t.corrupt and t.state == 'running' and t.epoch == fence.epoch and t.nonce == fence.nonce
end

local function fenced(fence) return bad('fenced', 'task ' .. uuid(fence.id) .. ', epoch ' .. str(fence.epoch)) end

-- valid says why an outcome cannot be applied as a whole; nil: it can. Nothing is written before. What can be told without the
-- store the caller has looked at already.
local function valid(out)
	if out.bad then return bad('invalid', out.bad) end
	local created = {}
	for _, g in ipairs(out.groups or {}) do created[g.id] = not group(g.id) end
	for _, f in ipairs(out.follow or {}) do
		local to = f.group
		if to and not created[to] and not task(f.id) then
			local refused = joinable(to)
			if refused then
				refused.text, refused.also = 'follow-up ' .. uuid(f.id) .. ': ' .. refused.text, 'invalid'
				return refused
			end
		end
	end
	return nil
end

local settle

do -- Lua bounds how many names one scope may have

-- write_outcome stores what an outcome brings along: entries, consumed messages, progress, groups and follow-ups.
local function write_outcome(t, out)
	set_entries(t, out.entries)
	consume(t, out.consume)
	if out.prog then t.prog, t.progat = out.prog, now end
	for _, g in ipairs(out.groups or {}) do create_group(g) end
	for _, f in ipairs(out.follow or {}) do submit_item(f.id, unpack_(f.item), f.item, true) end
	for _, g in ipairs(out.groups or {}) do
		if g.seal then seal(group(g.id)) end
	end
end

-- park_or_wait puts a task where an outcome that does not end it says.
local function put(t, out)
	local kind = out.kind
	if kind == 'release' then return move(t, 'ready') end
	if kind == 'hold' then
		t.reason = out.reason
		return move(t, 'held')
	end
	if kind ~= 'park' then return wait(t, out.delay) end
	if (t.wakes or 0) ~= (out.wakes or 0) then return make_ready(t) end
	t.due = nil
	if (out.delay or 0) > 0 then t.due = now + floor(out.delay / 1000) end
	move(t, 'parked')
end

-- go_on applies an outcome that does not end the task.
local function go_on(t, out)
	local asked = overruled(t)
	local kind = out.kind
	if kind ~= 'release' then t.charged = nil end
	if kind == 'retry' then
		event(t, 'retried', out.text)
		stat(t, 'retried')
	elseif kind == 'snooze' then
		event(t, 'snoozed')
	elseif kind == 'park' then
		event(t, 'parked')
		absolve(t)
	elseif kind == 'release' then
		event(t, 'released')
	else
		event(t, 'held', out.reason)
	end
	if asked then return make_ready(t) end -- owned, and its handler has not been told
	put(t, out)
end

-- settle applies an outcome to a running task.
settle = function(t, out)
	local kind = out.kind
	t.sepoch, t.snonce, t.skind = t.epoch, t.nonce, kind
	stat(t, 'ran', max(now - t.start, 0))
	local ends = kind == 'done' or kind == 'fail' or kind == 'cancel'
	if kind == 'retry' or kind == 'fail' then t.tries = (t.tries or 0) + 1 end
	if out.err then t.err = out.err end
	if not ends and overruled(t) and not t.owned then return finish(t, 'cancelled', t.asked) end
	write_outcome(t, out)
	if kind == 'done' then
		t.err = nil
		finish(t, 'done', out.reason, out.result)
	elseif kind == 'fail' then
		finish(t, 'failed', out.reason, out.result)
	elseif kind == 'cancel' then
		finish(t, 'cancelled', out.reason or 'cancelled', out.result)
	else
		go_on(t, out)
	end
end

end

local function settle_staged(t)
	settle(t, unpack_(t.staged))
end
