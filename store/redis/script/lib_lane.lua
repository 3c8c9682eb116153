-- Lanes, limits, pauses and order: who may be claimed, and in which turn.
--
-- A lane exists while it has ready tasks. It is placed where its head ranks it: in the level of its priority (and in that of the
-- aged, if it is), where a claim finds it in turn; or, once a claim has met it shut, among those that wait, where it costs nothing until
-- what shut it changes; or, with suspects in it, apart.
local function lane_name(t, suspect)
	return t.kind .. '\0' .. (t.lane or '') .. '\0' .. (t.limit or '') .. '\0' .. (t.order and 'o' or '') .. (suspect and 's' or '')
end

-- member is a task in its lane: in the order of priority, due, id; in an ordered lane of id alone.
local function member(t)
	if t.order then return t.id end
	return be8(4503599627370496 - max(min(t.prio or 0, 4503599627370495), -4503599627370495)) .. be8(t.due or 0) .. t.id
end

local function head_id(L) return sub(L.head, -16) end

-- behind reports whether a task comes after another in a lane that is not ordered, by priority and due alone.
local function behind(m, other)
	local prio, due = struct.unpack('>I8I8', m)
	local other_prio, other_due = struct.unpack('>I8I8', other)
	return prio > other_prio or prio == other_prio and due > other_due
end

local lane_of

do -- Lua bounds how many names one scope may have

local parts, known = {}, 0 -- what names of lanes say, of one step and the next

-- parse takes the name of a lane apart.
local function parse(name)
	local p = parts[name]
	if p then return p end
	if known >= 1000 then parts, known = {}, 0 end
	local kind, key, limit, mark = name:match('^([^%z]*)%z([^%z]*)%z([^%z]*)%z(.*)$')
	p = { kind = kind, key = key, limit = limit, ordered = mark:find('o', 1, true), suspect = mark:find('s', 1, true) }
	parts[name], known = p, known + 1
	return p
end

-- lane_of returns a lane, or nil. raw is how it is stored, if that was read.
lane_of = function(queue, name, raw)
	local k = queue .. '\0' .. name
	local L = lanes[k]
	if L == nil then
		if raw == nil then raw = call('HGET', P .. 'lanes:' .. queue, name) end
		if raw then
			L = unpack_(raw)
			L.queue, L.name, L.old_since, L.raw = queue, name, L.since, raw
			local p = parse(name)
			L.kind, L.key, L.limit, L.ordered, L.suspect = p.kind, p.key, p.limit, p.ordered, p.suspect
		else
			L = false
		end
		lanes[k] = L
	end
	return L or nil
end

end

local function ready_key(L) return P .. 'ready:' .. L.queue .. '\0' .. L.name end

local function kind_key(what, queue, kind) return P .. what .. ':' .. queue .. '\0' .. kind end

-- forget_age takes a lane out of where it stands by its age. A young one is not among the aged, unless the clock was stepped back: reage then
-- meets it there. An aged one is, unless no claim has come since.
local function forget_age(L)
	if not L.old_since then return end
	call('ZREM', P .. 'age:' .. L.queue, L.name)
	if now - L.old_since >= T.aged then call('ZREM', P .. 'aged:' .. L.queue, L.name) end
end

local function level_key(L, token) return kind_key('level', L.queue, L.kind) .. '\0' .. token end

local unplace, settle_lane

do

-- leave_level takes a lane out of a level.
local function leave_level(L, token)
	local key = level_key(L, token)
	call('ZREM', key, L.name)
	if call('EXISTS', key) == 0 then call('ZREM', kind_key('levels', L.queue, L.kind), token) end
end

-- join_level puts a lane into a level of some rank.
local function join_level(L, token, rank)
	call('ZADD', kind_key('levels', L.queue, L.kind), rank, token)
	call('ZADD', level_key(L, token), '0', L.name)
end

-- unplace takes a lane out of where it is.
unplace = function(L)
	if L.place == 'level' then
		leave_level(L, L.token)
		if L.aged then leave_level(L, 'aged') end
		tops[L.queue .. '\0' .. L.kind] = nil
	elseif L.place == 'wait' then
		call('ZREM', kind_key('wait', L.queue, L.kind), L.name)
		if L.limit ~= '' then call('SREM', P .. 'shut:' .. L.limit, L.queue .. '\0' .. L.name) end
		call('SREM', P .. 'paused', L.queue .. '\0' .. L.name)
	elseif L.place == 'suspect' then
		call('ZREM', kind_key('suspects', L.queue, L.kind), L.name)
	end
	L.place = nil
end

-- settle places a lane where its head ranks it.
settle_lane = function(L)
	dirty_lanes[L.queue .. '\0' .. L.name] = L
	if L.deferred then return end
	if L.suspect then
		if L.place ~= 'suspect' then
			L.place = 'suspect'
			call('ZADD', kind_key('suspects', L.queue, L.kind), '0', L.name)
		end
		return
	end
	local aged = now - L.since >= T.aged
	local token = str(L.prio)
	if L.place == 'level' and L.token == token and (L.aged or false) == aged then return end
	unplace(L)
	L.place, L.token, L.aged = 'level', token, aged or nil
	join_level(L, token, str(-L.prio))
	if aged then join_level(L, 'aged', '-inf') end
	tops[L.queue .. '\0' .. L.kind] = nil
end

end

local next_head, enqueue_all

do

-- lead makes a task the first one of a lane.
local function lead(L, m, t)
	L.head, L.prio, L.since, L.charged = m, t.prio or 0, t.ready or 0, t.charged
	settle_lane(L)
end

local function drop_lane(L)
	local k = L.queue .. '\0' .. L.name
	unplace(L)
	call('HDEL', P .. 'lanes:' .. L.queue, L.name)
	call('ZREM', P .. 'names:' .. L.queue, L.name)
	forget_age(L)
	L.gone = true
	lanes[k], dirty_lanes[k] = false, nil
end

-- next_head looks for the first task of a lane. An entry whose task is not ready there is taken out: a foreign hand left it. m is the first
-- entry if that is known, false if there is none, and raw what fetch has read of its task.
next_head = function(L, m, raw)
	while true do
		if m == nil then m = call('ZRANGE', ready_key(L), '0', '0')[1] end
		if not m then
			drop_lane(L)
			return
		end
		local t = task(sub(m, -16), raw)
		if t and (t.corrupt or t.state == 'ready') then
			if t.corrupt then t = { prio = 0, ready = now } end
			lead(L, m, t)
			return
		end
		call('ZREM', ready_key(L), m)
		m, raw = nil, nil
	end
end

-- new_lane makes the lane that a task is the first of.
local function new_lane(t, name)
	local L = { queue = t.queue, name = name, kind = t.kind, key = t.lane or '', limit = t.limit or '', ordered = t.order, suspect = t.suspect }
	lanes[t.queue .. '\0' .. name] = L
	call('ZADD', P .. 'names:' .. t.queue, '0', name)
	if deferred then
		L.deferred = true
		deferred[#deferred + 1] = L
	end
	return L
end

local opened, known = {}, 0 -- where the heads of open lanes stand, by how such a lane is stored, of one step and the next

-- remember notes how an open lane is stored.
local function remember(L)
	if not L.raw or L.place ~= 'level' or L.ordered then return end
	if known >= 1000 then opened, known = {}, 0 end
	local prio, due = struct.unpack('>I8I8', L.head)
	opened[L.raw], known = { prio = prio, due = due }, known + 1
end

-- line_up puts tasks behind others that wait in an open lane, if that lane is stored as it was the last time: nothing else then changes, and
-- it need not be taken apart.
local function line_up(t, name, list)
	local k = t.queue .. '\0' .. name
	if t.order or lanes[k] ~= nil then return false end
	local raw = call('HGET', P .. 'lanes:' .. t.queue, name)
	local is = raw and opened[raw]
	if is then
		local prio, due = struct.unpack('>I8I8', list[2])
		if prio > is.prio or prio == is.prio and due > is.due then
			batch('ZADD', P .. 'ready:' .. k, list)
			return true
		end
	end
	lane_of(t.queue, name, raw)
	return false
end

-- enqueue_all puts tasks into their lane: scores and members, in pairs. t is one of them, and the others are like it but for the id. name is that of
-- the lane, if it is known.
enqueue_all = function(t, list, name)
	name = name or lane_name(t, t.suspect)
	if line_up(t, name, list) then return end
	local L = lane_of(t.queue, name)
	if L then remember(L) end
	-- Who waits for work has found this lane empty or shut: of one that has been open all the while nobody need hear.
	if not L or L.place ~= 'level' then notice_work(t.queue) end
	if not L then L = new_lane(t, name) end
	batch('ZADD', ready_key(L), list)
	if not L.head and #list == 2 then return lead(L, list[2], t) end
	if L.head and not t.order and behind(list[2], L.head) then return end
	local first = call('ZRANGE', ready_key(L), '0', '0')[1]
	for i = 2, #list, 2 do
		if list[i] == first then return lead(L, first, t) end
	end
	if not L.head then next_head(L) end -- a foreign hand left another one there
end

end

local function enqueue(t) enqueue_all(t, { '0', member(t) }) end

-- undefer places the lanes that have come to be while a claim went through a queue.
local function undefer()
	local list = deferred
	deferred = nil
	for _, L in ipairs(list) do
		L.deferred = nil
		if not L.gone then settle_lane(L) end
	end
end

-- unready takes an entry out of a lane.
local function unready(L, m)
	call('ZREM', ready_key(L), m)
	if L.head == m then next_head(L) end
end

local function dequeue(t)
	local L = lane_of(t.queue, lane_name(t, t.suspect))
	if L then unready(L, member(t)) end
end

flushes.lanes = function()
	if not next(dirty_lanes) then return end
	for _, L in pairs(dirty_lanes) do
		call('HSET', P .. 'lanes:' .. L.queue, L.name, pack({
			place = L.place, token = L.token, aged = L.aged, head = L.head, prio = L.prio, since = L.since, charged = L.charged,
		}))
		if L.old_since ~= L.since then
			local aged = now - L.since >= T.aged
			if aged or now - (L.old_since or now) >= T.aged then forget_age(L) end
			L.old_since = L.since
			call('ZADD', P .. (aged and 'aged:' or 'age:') .. L.queue, str(L.since), L.name)
		end
	end
	dirty_lanes = {}
end

-- reage moves the lanes of a queue whose head has come to count as aged, or no longer does since the clock was stepped back.
local reage

do

local function regroup(queue, from, to, names)
	for _, name in ipairs(names) do
		local L = lane_of(queue, name)
		call('ZREM', P .. from .. queue, name)
		if L then
			call('ZADD', P .. to .. queue, str(L.since), name)
			if L.place == 'level' then settle_lane(L) end
		end
	end
end

reage = function(queue)
	local border = str(now - T.aged)
	regroup(queue, 'age:', 'aged:', call('ZRANGEBYSCORE', P .. 'age:' .. queue, '-inf', border, 'LIMIT', '0', '100'))
	regroup(queue, 'aged:', 'age:', call('ZRANGEBYSCORE', P .. 'aged:' .. queue, '(' .. border, '+inf', 'LIMIT', '0', '100'))
end

end
