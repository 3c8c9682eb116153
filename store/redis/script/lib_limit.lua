-- What shuts a lane: its limit, a pause, its order.

-- limit returns what is counted under a limit key, whether or not a limit was set for it.
local function limit(key)
	local l = limits[key]
	if not l then
		l = read_map(P .. 'limit:' .. key) or { running = 0 }
		limits[key] = l
	end
	return l
end

local function change_limit(key) dirty_limits[key] = true end

flushes.limits = function()
	if not next(dirty_limits) then return end
	for key in pairs(dirty_limits) do
		local l = limits[key]
		if not l.set and l.running <= 0 then
			call('DEL', P .. 'limit:' .. key)
		else
			call('SET', P .. 'limit:' .. key, pack(l))
		end
	end
	dirty_limits = {}
end

-- rates_open tells until when the rates of a limit are closed; nil: they are open. A stored time that the clock does not
-- allow is clamped: the clock was stepped back.
local function rates_open(key, l)
	local opens
	for i, r in ipairs(l.rates or {}) do
		local tat = l.tats[i]
		if tat > now + r.burst then
			tat = now + r.burst
			l.tats[i] = tat
			change_limit(key)
		end
		local at = tat + r.step - r.burst
		if at > now and (not opens or at > opens) then opens = at end
	end
	return opens
end

-- opens tells until when a limit is closed for a task; nil: it is open. A full one opens at no known time.
local function opens(key, charged)
	if not key or key == '' then return nil end
	local l = limit(key)
	if not l.set then return nil end
	if l.max > 0 and l.running >= l.max then return NEVER end
	if charged then return nil end
	return rates_open(key, l)
end

-- unpark lets claims look at a lane again.
local function unpark(queue, name)
	local L = lane_of(queue, name)
	if L and L.place == 'wait' then settle_lane(L) end
end

local function unpark_named(both)
	local queue, name = both:match('^([^%z]*)%z(.*)$')
	unpark(queue, name)
end

-- unshut lets claims look at lanes that a limit had shut: so many as are worth a slot, the others when a claim finds nothing.
local UNSHUT = 64

local function unshut(key)
	for _, both in ipairs(call('SPOP', P .. 'shut:' .. key, UNSHUT)) do unpark_named(both) end
	if call('EXISTS', P .. 'shut:' .. key) == 1 then
		call('SADD', P .. 'reopened', key)
		there.reopened = true
	else
		call('SREM', P .. 'reopened', key)
	end
end

-- unshut_more is asked when a claim finds nothing: are there lanes left that an open limit had shut?
local function unshut_more()
	if there.reopened == false then return false end
	local key = call('SRANDMEMBER', P .. 'reopened')
	if not key then return false end
	unshut(key)
	return true
end

local function line_name(t) return t.queue .. '\0' .. t.kind .. '\0' .. (t.lane or '') .. '\0' .. (t.limit or '') end

-- unline lets claims look at the lanes of a line again: its head may have changed.
local function unline(t)
	unpark(t.queue, lane_name(t, false))
	unpark(t.queue, lane_name(t, true))
end

-- take gives a task its slot and charges the rates, once per start.
local function take(t)
	if t.order then call('HINCRBY', P .. 'lines', line_name(t), 1) end
	if not t.limit then return end
	local l = limit(t.limit)
	l.running = l.running + 1
	change_limit(t.limit)
	if t.charged or not l.set then return end
	t.charged = (l.rates and #l.rates > 0) or nil
	for i, r in ipairs(l.rates or {}) do l.tats[i] = max(l.tats[i], now) + r.step end
end

-- give_back takes so many slots of a limit back.
local function give_back(key, n)
	local l = limit(key)
	l.running = max(l.running - n, 0)
	change_limit(key)
	if not l.set then return end
	unshut(key)
	notice_all()
end

-- give takes a task's slot back.
local function give(t)
	if t.order then
		if call('HINCRBY', P .. 'lines', line_name(t), -1) <= 0 then call('HDEL', P .. 'lines', line_name(t)) end
		unline(t)
		notice_work(t.queue)
	end
	if t.limit then give_back(t.limit, 1) end
end

local function join_line(t)
	if t.order then call('ZADD', P .. 'line:' .. line_name(t), '0', t.id) end
end

-- out_of_line takes a task out of its line. Its next head may be claimed.
local function out_of_line(t)
	call('ZREM', P .. 'line:' .. line_name(t), t.id)
	if call('EXISTS', P .. 'line:' .. line_name(t)) == 0 then return end
	unline(t)
	notice_work(t.queue)
end

-- leave_line is called when a task has ended: one that failed in a lane that blocks stays where it is.
local function leave_line(t)
	if not t.order or t.order == 'block' and t.state == 'failed' then return end
	if t.order == 'fail' and t.state == 'failed' and t.reason ~= 'order' then
		call('ZADD', P .. 'broken:' .. line_name(t), str(t.ended), t.id)
	end
	out_of_line(t)
end

-- pauses reports whether there is any.
local function pauses()
	if there.pause == nil then
		-- Mostly there are neither pauses nor weights nor limits that have opened, which a claim asks for next.
		there.pause = call('EXISTS', P .. 'pauses', P .. 'weights', P .. 'reopened') > 0
		if there.pause then
			there.pause = call('EXISTS', P .. 'pauses') == 1
		else
			there.weight, there.reopened = false, there.reopened or false
		end
	end
	return there.pause
end

-- breaks is about tasks that fail the rest of their line. It is one name: Lua bounds how many there may be.
local breaks = {}

-- mend forgets that a task has failed the rest: it is retried or deleted.
breaks.mend = function(t)
	if t.order == 'fail' then call('ZREM', P .. 'broken:' .. line_name(t), t.id) end
end

-- before reports whether an id sorts before another, byte by byte.
breaks.before = function(a, b)
	for i = 1, 16 do
		local x, y = a:byte(i), b:byte(i)
		if x ~= y then return x < y end
	end
	return false
end

-- met reports whether a task fails because one before it in its line did.
breaks.met = function(t)
	if t.order ~= 'fail' then return false end
	for _, id in ipairs(call('ZRANGEBYSCORE', P .. 'broken:' .. line_name(t), str(t.made), '+inf')) do
		if breaks.before(id, t.id) then return true end
	end
	return false
end

-- paused tells until when a pause keeps claims away from a lane: nil if none does, NEVER if it has no end.
local function paused(queue, kind, key)
	if not pauses() then return nil end
	local soonest
	local fields, queues, kinds, keys = {}, { '', queue }, { '', kind }, { '', key }
	for i = 1, 2 do
		for j = 1, 2 do
			for k = 1, 2 do fields[#fields + 1] = queues[i] .. '\0' .. kinds[j] .. '\0' .. keys[k] end
		end
	end
	for _, raw in ipairs(call('HMGET', P .. 'pauses', unpack(fields))) do
		if raw then
			local p = unpack_(raw)
			local ends = p['until'] or NEVER
			if ends > now and (not soonest or ends < soonest) then soonest = ends end
		end
	end
	return soonest
end

-- blocked says why no claim may take from a lane now, and until when as far as that is known; nil: one may.
local function blocked(L)
	if L.ordered then
		local line = L.queue .. '\0' .. L.kind .. '\0' .. L.key .. '\0' .. L.limit
		if call('HEXISTS', P .. 'lines', line) == 1 or call('ZRANGE', P .. 'line:' .. line, '0', '0')[1] ~= head_id(L) then
			return 'order', NEVER
		end
	end
	local ends = paused(L.queue, L.kind, L.key)
	if ends then return 'paused', ends end
	local at = opens(L.limit, L.charged)
	if at then return 'limit', at end
	return nil
end

-- park puts a lane that a claim has met shut among those that wait.
local function park(L, why, at)
	unplace(L)
	L.place = 'wait'
	dirty_lanes[L.queue .. '\0' .. L.name] = L
	there.wait = {}
	call('ZADD', kind_key('wait', L.queue, L.kind), at >= NEVER and '+inf' or str(at), L.name)
	if why == 'limit' then
		call('SADD', P .. 'shut:' .. L.limit, L.queue .. '\0' .. L.name)
		call('SREM', P .. 'reopened', L.limit)
	elseif why == 'paused' then
		call('SADD', P .. 'paused', L.queue .. '\0' .. L.name)
	end
end
