-- The one road to a terminal state, and what may be removed after it.
local submit_item, ask -- see lib_submit.lua, below

-- Unique keys: u:<kind>\0<key> holds the id of the holder and, if it has one, its end.
local function key_name(kind, key) return P .. 'u:' .. kind .. '\0' .. key end

-- holder returns the task that holds a key, or nil. A key whose time is up is let go by the step that meets it.
local function holder(kind, key)
	local v = call('GET', key_name(kind, key))
	if not v then return nil end
	local ends = tonumber(sub(v, 17))
	if ends and now >= ends then
		call('DEL', key_name(kind, key))
		return nil
	end
	return task(sub(v, 1, 16))
end

local function take_key(t)
	local ends = ''
	if (t.keyfor or 0) > 0 then ends = str(now + floor(t.keyfor / 1000)) end
	call('SET', key_name(t.kind, t.key), t.id .. ends)
end

local function drop_key(t)
	if not t.key then return end
	local v = call('GET', key_name(t.kind, t.key))
	if v and sub(v, 1, 16) == t.id then call('DEL', key_name(t.kind, t.key)) end
end

-- strip leaves the bare record: what tells a repeated Submit that its task has been.
local function strip(t)
	t.stripped, t.hist, t.nhist, t.entries, t.inbox = true, nil, nil, nil, nil
	call('DEL', P .. 'r:' .. t.id, P .. 'e:' .. t.id, P .. 'i:' .. t.id)
	t.result = nil
	local item = cold(t.id)
	if item.args then
		item.args = nil
		call('SET', P .. 'c:' .. t.id, pack(item))
	end
end

-- may_expire sets when a task is removed, once nothing holds it back: the task that follows its ending and may yet run, its group. Into later goes
-- what the caller writes, if it is given.
local function may_expire(t, later)
	if t.state ~= 'done' and t.state ~= 'cancelled' or t.expire then return end
	if t.next then
		local following = task(t.next)
		if following and following.state ~= 'done' and not following.stripped then return end
	end
	if t.group and not t.marked then return end
	local keep = t.keep or 0
	if keep == 0 then strip(t) end
	if keep >= 0 then
		t.expire = t.ended + max(floor(keep / 1000), T.horizon)
		if later then
			local n = #later
			later[n + 1], later[n + 2] = str(t.expire), t.id
		else
			call('ZADD', P .. 'expiry', str(t.expire), t.id)
		end
	end
	change(t)
end

local unkeep -- see lib_group.lua

-- released lets those expire that had to wait for the end of a task.
local function released(t)
	local p = task(t.parent)
	if p and not p.corrupt and p.next == t.id and terminal(p.state) then may_expire(p) end
	if not t.keeps then return end
	for _, id in ipairs(call('SMEMBERS', P .. 'keeps:' .. t.id)) do
		local g = group(id)
		if g then unkeep(g) end
	end
	call('DEL', P .. 'keeps:' .. t.id)
	t.keeps = nil
end

local count_end -- see lib_group.lua

-- finish ends a task: whoever ends it, all that follows from it happens in this step.
local function finish(t, state, reason, result, err)
	event(t, 'ended', reason)
	if t.startby then
		call('ZREM', P .. 'startby', t.id)
		t.startby = nil
	end
	move(t, state)
	t.reason, t.ended = reason ~= '' and reason or nil, now
	if result then
		call('SET', P .. 'r:' .. t.id, result)
		t.result = true
	end
	if err then t.err = err end
	forget_inbox(t)
	stat(t, state)
	if state == 'failed' then call('ZADD', P .. 'failed', '0', t.id) end
	if t.key and (state == 'failed' and t.keyfor ~= -2 or not t.keyfor) then drop_key(t) end -- -2 stays, as long as the record
	leave_line(t)
	local onend = t.next and cold(t.id).onend
	if onend then
		local item = unpack_(onend)
		item.parent, item.group = t.id, nil
		submit_item(t.next, item, nil, true)
	end
	count_end(t, 1)
	wake(t.parent)
	may_expire(t)
	released(t)
end

-- remove takes a terminal task out of the store, with all that belongs to it.
local function remove(t)
	local id = t.id
	local item = cold(id)
	if t.expire then call('ZREM', P .. 'expiry', id) end
	if t.state == 'failed' then call('ZREM', P .. 'failed', id) end
	if t.key then
		drop_key(t)
		call('ZREM', P .. 'keyed:' .. t.kind .. '\0' .. t.key, id)
	end
	if t.order then
		breaks.mend(t)
		out_of_line(t)
	end
	call('ZREM', P .. 'all', id)
	if t.parent then call('ZREM', P .. 'kids:' .. t.parent, id) end
	call('DEL', P .. 't:' .. id, P .. 'c:' .. id, P .. 'r:' .. id, P .. 'e:' .. id, P .. 'i:' .. id)
	tally(t.queue, 'total', -1)
	t.removed, tasks[id] = true, false
	dirty_tasks[id] = nil
	released(t)
	local g = group(t.group)
	if not g then return end
	call('ZREM', P .. 'members:' .. t.group, (item.place or '') .. id)
	stage_member(g, t, nil)
	g.records = g.records - 1
	change_group(g)
	if g.records == 0 then bare_group(g) end
end
