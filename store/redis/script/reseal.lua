-- flags: none
-- Reseal replaces sealed bytes of one record, while its version is the one that was read.
-- takes {task or group or schedule, version, args, onend, result, detail, note, entries, messages}, returns {} or {err}
-- keeps: nothing but those bytes and the version changes, and nobody is told.
local function changed(what) return bad('changed', 'reseal ' .. what .. ', which has moved on or has not got that') end

-- respec replaces args in what was submitted; nil: it has none.
local function respec(item)
	if req.args and not item.args then return nil end
	if req.args then item.args = req.args end
	if req.onend then
		local follow = item.onend and unpack_(item.onend)
		if not follow or not follow.args then return nil end
		follow.args = req.onend
		item.onend = pack(follow)
	end
	return item
end

local function reseal_group()
	local g, what = group(req.group), 'group ' .. uuid(req.group)
	if not g then return bad('notfound', what) end
	local gc = read_map(P .. 'gc:' .. g.id)
	if g.ver ~= req.version or not gc or not gc.onclose then return changed(what) end
	local item = respec(unpack_(gc.onclose))
	if not item then return changed(what) end
	gc.onclose = pack(item)
	call('SET', P .. 'gc:' .. g.id, pack(gc))
	g.ver = g.ver + 1
	dirty_groups[g.id] = g
	return {}
end

local function reseal_schedule()
	local key, what = P .. 'schedule:' .. req.schedule, 'schedule ' .. req.schedule
	local s = read_map(key)
	if s == nil then return bad('notfound', what) end
	if not s or s.version ~= req.version then return changed(what) end
	local item = respec(unpack_(s.task))
	if not item then return changed(what) end
	s.task, s.version = pack(item), s.version + 1
	call('SET', key, pack(s))
	return {}
end

-- after_numbers is where the note of a progress begins: behind two numbers of several bytes each.
local function after_numbers(prog)
	local at = 1
	for _ = 1, 2 do
		while (prog:byte(at) or 0) >= 128 do at = at + 1 end
		at = at + 1
	end
	return at
end

-- messages returns the messages as they are to be written; nil: one is not there.
local function messages(t)
	local list = {}
	for id, body in pairs(req.messages or {}) do
		local v = call('HGET', P .. 'i:' .. t.id, id)
		if not v or v == '' then return nil end
		local m = unpack_(sub(v, 17))
		m.body = body
		list[id] = sub(v, 1, 16) .. pack(m)
	end
	return list
end

local function has_all(t, err, note)
	if req.result and not t.result then return false end
	if req.detail and (not err or err[3] == '') then return false end
	if req.note and note == '' then return false end
	for name in pairs(req.entries or {}) do
		if call('HEXISTS', P .. 'e:' .. t.id, name) == 0 then return false end
	end
	return true
end

local function reseal_task()
	local t, what = task(req.task), 'task ' .. uuid(req.task)
	if not t then return bad('notfound', what) end
	if t.corrupt or t.ver ~= req.version then return changed(what) end
	if t.state == 'running' and t.staged then return bad('state', 'reseal ' .. what .. ', whose outcome is staged') end
	local err = t.err and unpack_(t.err)
	local at = t.prog and after_numbers(t.prog)
	if not has_all(t, err, t.prog and sub(t.prog, at) or '') then return changed(what) end
	local inbox, item = messages(t), respec(cold(t.id))
	if not inbox or not item then return changed(what) end
	if req.args or req.onend then call('SET', P .. 'c:' .. t.id, pack(item)) end
	if req.result then call('SET', P .. 'r:' .. t.id, req.result) end
	if req.detail then t.err = pack({ err[1], err[2], req.detail }) end
	if req.note then t.prog = sub(t.prog, 1, at - 1) .. req.note end
	for name, value in pairs(req.entries or {}) do call('HSET', P .. 'e:' .. t.id, name, value) end
	for id, m in pairs(inbox) do call('HSET', P .. 'i:' .. t.id, id, m) end
	t.ver = t.ver + 1
	change(t)
	return {}
end

if req.group then return answer(reseal_group()) end
if req.schedule then return answer(reseal_schedule()) end
return answer(reseal_task())
