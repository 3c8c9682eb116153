-- Storing tasks, and asking them to end.

-- joinable says why a group takes no member; nil: it takes one, or there is no group.
local function joinable(id)
	if not id then return nil end
	local g = group(id)
	if not g then return bad('notfound', 'group ' .. uuid(id)) end
	if g.aborting or g.state ~= 'filling' and g.state ~= 'held' then
		return bad('state', 'group ' .. uuid(id) .. ' takes no more members, it is ' .. g.state)
	end
	return nil
end

-- stands answers with a task that is there already.
local function stands(t)
	return { id = t.id, state = seen_as(t), existed = true, finger = cold(t.id).finger }
end

do -- Lua bounds how many names one scope may have

-- create makes the record of a task that may be stored. raw is the item as it came, if nothing in it was changed.
local function create(id, item, raw)
	local t = from_item(item)
	t.id, t.made, t.due = id, now, now
	tasks[id] = t
	if item.due and item.due > t.due then t.due = item.due end
	if item.delay then t.due = max(t.due, now + floor(item.delay / 1000)) end
	if item.startby then
		t.startby = now + floor(item.startby / 1000)
		call('ZADD', P .. 'startby', str(t.startby), id)
	end
	call('SET', P .. 'c:' .. id, raw or pack(item))
	call('ZADD', P .. 'all', '0', id)
	if t.parent then call('ZADD', P .. 'kids:' .. t.parent, '0', id) end
	if t.key then
		take_key(t)
		call('ZADD', P .. 'keyed:' .. t.kind .. '\0' .. t.key, '0', id)
	end
	join_line(t)
	stat(t, 'submitted')
	tally(t.queue, 'total', 1)
	local g = group(t.group)
	if g then
		g.total, g.records = g.total + 1, g.records + 1
		change_group(g)
		call('ZADD', P .. 'members:' .. t.group, '0', (item.place or '') .. id)
		t.reason = 'group'
		move(t, 'held')
	elseif t.due > now then
		move(t, 'scheduled')
	else
		move(t, 'ready')
	end
	return t
end

-- submit_item stores one task. With follow it comes from an ending: a key that is taken is then no error.
submit_item = function(id, item, raw, follow)
	local t = task(id)
	if t then return stands(t) end
	local refused = joinable(item.group)
	if refused then
		refused.id = id
		return refused
	end
	local replaced
	if item.key then
		local h = holder(item.kind, item.key)
		if h and not follow and item.clash == 'reject' then
			local answer = stands(h)
			answer.err, answer.text = 'duplicate', fmt('unique key %q of kind %q is held by task %s', item.key, item.kind, uuid(h.id))
			return answer
		elseif h and item.clash == 'latest' and h.state == 'running' then
			drop_key(h) -- it goes on without
			replaced, h = h.id, nil
		elseif h and (item.clash == 'replace' or item.clash == 'latest') and h.state ~= 'running' and not terminal(h.state) and not h.owned and not h.corrupt then
			finish(h, 'cancelled', 'replaced')
			drop_key(h)
			replaced = h.id
			h = holder(item.kind, item.key) -- what followed the ending may have taken the key
		end
		if h then
			local answer = stands(h)
			answer.replaced = replaced
			return answer
		end
	end
	t = create(id, item, raw)
	return { id = id, state = t.state, finger = item.finger, replaced = replaced }
end

end

-- ask wants a task to end from outside: one that waits ends, one that runs is asked, an owned one is made ready to end itself.
ask = function(t, reason)
	if t.corrupt or terminal(t.state) then return end
	if t.state ~= 'running' and not t.owned then return finish(t, 'cancelled', reason) end
	if t.asked then return end
	t.asked, t.told = reason, nil
	t.wakes = (t.wakes or 0) + 1
	event(t, 'asked', reason)
	if t.state ~= 'running' then return make_ready(t) end
	touch(t)
	told_asks[t.id] = t.worker
	call('ZADD', P .. 'asks:' .. t.worker, '0', t.id)
end

-- overruled reports whether a request turns a step out of running into something else. The abort of its group is one, also
-- before Promote has come to the task.
local function overruled(t)
	local g = group(t.group)
	if g and g.aborting and not t.asked then t.asked, t.told = g.aborting, nil end
	return t.asked and (not t.told or not t.owned)
end

-- end_corrupt ends a task whose record cannot be read. Where it stood is known by who has met it.
local function end_corrupt(t, state)
	t.corrupt, t.state = nil, state
	local item = cold(t.id)
	t.made = now
	if not item.onend then t.next = nil end
	if call('EXISTS', P .. 'i:' .. t.id) == 1 then t.inbox = 1 end
	t.entries = call('EXISTS', P .. 'e:' .. t.id) == 1 or nil
	t.keeps = call('EXISTS', P .. 'keeps:' .. t.id) == 1 or nil
	call('ZREM', P .. 'startby', t.id)
	call('ZREM', P .. 'overdue', t.id)
	call('ZREM', P .. 'idle', t.id)
	finish(t, 'failed', 'corrupt', nil, T.corrupt)
end
