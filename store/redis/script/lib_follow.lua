-- What follows from ends that came together: tasks that begin when another has ended, parents that are woken, records that may be removed.
-- What that takes is read at once, and written at once: nothing here reads it before.
local follow_all

do -- Lua bounds how many names one scope may have

local ONEND = '\165onend' -- as msgpack writes the name

local raws -- what was read of tasks that follow and of parents
local strings, ids, lines, expiring
local begun -- tasks that were made of what follows, by its text
local past  -- parents that may be removed, by their shape
local told  -- parents that were found to be past

-- line_of returns where ready tasks like one are noted that belong into its lane.
local function line_of(t)
	local name, place = lane_name(t, false), sub(member(t), 1, -17)
	local key = t.queue .. '\0' .. name .. '\0' .. place
	local line = lines[key]
	if not line then
		line = { t = t, name = name, place = place, list = {} }
		lines[key], lines[#lines + 1] = line, line
	end
	return line
end

-- add_one makes a task that follows, of its item. It returns what is the same for another of the same item but for the ids; nil if it is not
-- ready as soon as it is stored, or if more hangs on it than its parent.
local function add_one(id, item)
	if item.key or item.order or item.startby or item.delay or item.due then return nil end
	local t = from_item(item)
	t.id, t.made, t.due, t.ready, t.state = id, now, now, now, 'ready'
	tasks[id] = t
	touch(t)
	return { t = t, line = line_of(t), hot = pack_task(t), item = pack(item) }
end

-- moulded makes moulds of a task that follows, once another is like it. It returns whether it can be.
local function moulded(like)
	if like.moulded == nil then
		local parent = like.t.parent
		like.hot, like.cold = alike.mould(like.hot, nil, parent), alike.mould(like.item, nil, parent)
		like.moulded = like.hot and like.cold and true or false
	end
	return like.moulded
end

-- index notes where a task that follows belongs.
local function index(id, parent, item, like)
	local n, list = #ids, like.line.list
	strings[#strings + 1], strings[#strings + 2] = P .. 'c:' .. id, item
	ids[n + 1], ids[n + 2] = '0', id
	list[#list + 1], list[#list + 2] = '0', like.line.place .. id
	call('ZADD', P .. 'kids:' .. parent, '0', id)
	stat(like.t, 'submitted')
	tally(like.t.queue, 'total', 1)
	tally(like.t.queue, 'ready', 1)
end

-- add stores a task that follows another, of what was submitted of it with that one. It returns whether that waits now.
local function add(id, onend, parent)
	local like = begun[onend]
	if like and moulded(like) then
		local hot = alike.cast(like.hot, nil, parent)
		strings[#strings + 1], strings[#strings + 2] = P .. 't:' .. id, hot
		raws[id], tasks[id] = hot, nil -- who asks for it from now on finds it
		notice_task(id)
		index(id, parent, alike.cast(like.cold, nil, parent), like)
		return true
	end
	local item = unpack_(onend)
	item.parent, item.group = parent, nil
	like = add_one(id, item)
	if not like then
		submit_item(id, item, nil, true)
		return false
	end
	index(id, parent, like.item, like)
	if not item.next then begun[onend] = begun[onend] or like end
	return true
end

-- onend_of reads of what was submitted of a task what follows it, and nothing else if that is found by its name.
local function onend_of(raw)
	if not raw then return nil end
	local _, at = raw:find(ONEND, 1, true)
	if at and not raw:find(ONEND, at, true) then
		local ok, _, onend = pcall(unpack_one, raw, at)
		if ok and type(onend) == 'string' then return onend end
	end
	local ok, had = pcall(unpack_, raw)
	return ok and type(had) == 'table' and had.onend
end

-- begin_next stores the task that follows another, unless it is there. raw is what was submitted of the one that has ended.
local function begin_next(one, raw)
	local onend = onend_of(raw)
	local unknown = not tasks[one.next] and not raws[one.next]
	if onend and unknown and add(one.next, onend, one.id) then return end
	may_expire(task(one.id), expiring)
end

-- ended tells a parent that a task of its own has ended.
local function ended(one)
	local id = one.parent
	if told[id] then return end
	local raw = tasks[id] == nil and raws[id]
	local shape, next, parent
	if raw then shape, next, parent = alike.shape(raw) end
	local like = raw and past[shape]
	if like and next == one.id then
		strings[#strings + 1], strings[#strings + 2] = P .. 't:' .. id, alike.cast(like.mould, next, parent) .. like.hist
		expiring[#expiring + 1], expiring[#expiring + 2] = like.expire, id
		told[id] = true
		return
	end
	local p = task(id, raw or nil)
	wake(id)
	if not p or p.corrupt or p.next ~= one.id or not terminal(p.state) or p.expire then return end
	may_expire(p, expiring)
	if raw and p.expire and next == p.next and (parent or nil) == p.parent then
		like = { mould = alike.mould(pack_task(p), p.next, p.parent), hist = p.hist or '', expire = str(p.expire) }
		past[shape] = like.mould and not p.stripped and like
	end
end

-- read_ahead reads what there is of tasks that follow, and of parents. It returns what was submitted of the tasks that are followed, by their number.
local function read_ahead(list)
	local keys, numbers, wanted, items = {}, {}, {}, {}
	for i, one in ipairs(list) do
		if one.next then keys[#keys + 1], numbers[#numbers + 1], wanted[#wanted + 1] = P .. 'c:' .. one.id, i, one.next end
		if one.parent then wanted[#wanted + 1] = one.parent end
	end
	for i, raw in ipairs(fetch(wanted)) do raws[wanted[i]] = raw end
	for i, raw in ipairs(#keys > 0 and call('MGET', unpack(keys)) or {}) do items[numbers[i]] = raw end
	return items
end

-- follow_all sees to what follows from ends, in their order: {id, next, parent}, of which one may be missing.
follow_all = function(list)
	if #list == 0 then return end
	raws, strings, ids, lines, expiring, begun, past, told = {}, {}, {}, {}, {}, {}, {}, {}
	local items = read_ahead(list)
	for i, one in ipairs(list) do
		if one.next then begin_next(one, items[i]) end
		if one.parent then ended(one) end
	end
	batch('MSET', nil, strings)
	batch('ZADD', P .. 'all', ids)
	batch('ZADD', P .. 'expiry', expiring)
	for _, line in ipairs(lines) do enqueue_all(line.t, line.list, line.name) end
end

end
