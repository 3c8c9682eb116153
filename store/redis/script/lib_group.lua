-- Groups: the record in g:<id>, what was asked for in gc:<id>, members by what is still to be done with them in stages:<id>.
group = function(id)
	if not id then return nil end
	local g = groups[id]
	if g == nil then
		g = read_map(P .. 'g:' .. id) or false
		if g then g.id = id end
		groups[id] = g
	end
	return g or nil
end

-- change_group notes that a group has changed.
change_group = function(g)
	g.ver = (g.ver or 0) + 1
	g.upd = now
	dirty_groups[g.id] = g
end

flushes.groups = function()
	if not next(dirty_groups) then return end
	for _, g in pairs(dirty_groups) do
		if not g.removed then
			local id = g.id
			g.id = nil
			call('SET', P .. 'g:' .. id, pack(g))
			g.id = id
		end
	end
	dirty_groups = {}
end

local function count_stage(g, at, n)
	if at == WAITING then g.waiting = g.waiting + n end
	if at == WAITING or at == LIVING then g.living = g.living + n end
	if at == ENDED then g.unmarked = g.unmarked + n end
end

-- stage_member puts a member into one of the stages, and out of the one it was in; nil is none.
stage_member = function(g, t, to)
	if not g or t.stage == to then return end
	count_stage(g, t.stage, -1)
	count_stage(g, to, 1)
	t.stage = to
	dirty_groups[g.id] = g
	if to then
		call('ZADD', P .. 'stages:' .. g.id, to, t.id)
	else
		call('ZREM', P .. 'stages:' .. g.id, t.id)
	end
	if not t.removed then change(t) end
end

-- is_ripe reports whether members wait to be freed, settled or marked.
local function is_ripe(g)
	return g.state == 'open' and g.waiting > 0 or g.aborting and g.living > 0 or g.expiring and g.unmarked > 0
end

local function ripen(g)
	if g.queued or not is_ripe(g) then return end
	g.queued = true
	dirty_groups[g.id] = g
	call('ZADD', P .. 'ripe', str(call('HINCRBY', P .. 'state', 'ripe', 1)), g.id)
end

-- bare_group notes that a group has no member on record.
bare_group = function(g)
	if g.bare or g.state ~= 'closed' or not g.expiring or (g.keep or 0) < 0 then return end
	g.bare = true
	dirty_groups[g.id] = g
	call('ZADD', P .. 'bare', str(now + floor((g.keep or 0) / 1000)), g.id)
end

-- unkeep lets the members of a closed group expire.
unkeep = function(g)
	if g.state ~= 'closed' then return end
	g.expiring = true
	dirty_groups[g.id] = g
	ripen(g)
	if g.records == 0 then bare_group(g) end
end

local function live(g) return g.total - g.done - g.failed - g.cancelled end

-- try_close closes an open group whose last member has ended.
local function try_close(g)
	if g.state ~= 'open' or live(g) > 0 then return end
	g.state, g.closed = 'closed', now
	change_group(g)
	local keeper
	local onclose = g.next and (read_map(P .. 'gc:' .. g.id) or {}).onclose
	if onclose then
		local item = unpack_(onclose)
		item.next = item.onend and g.next2 or nil
		submit_item(g.next, item, nil, true)
		keeper = g.next
	else
		keeper = g.parent
	end
	wake(g.parent)
	local k = task(keeper)
	if not k or terminal(k.state) then
		g.keeper = nil
		unkeep(g)
		return
	end
	g.keeper = keeper
	call('SADD', P .. 'keeps:' .. keeper, g.id)
	if not k.keeps then
		k.keeps = true
		change(k)
	end
end

-- advance lets a group open if nothing keeps it from it, and close if nobody lives.
local function advance(g)
	if g.state == 'closed' then return end
	g.state = not g.sealed and 'filling' or g.hold and 'held' or 'open'
	change_group(g)
	try_close(g)
	ripen(g)
end

local function seal(g)
	g.sealed = true
	advance(g)
end

-- create_group makes a group. A known id has no effect.
local function create_group(n)
	if group(n.id) then return end
	local item = unpack_(n.item)
	local g = {
		id = n.id, state = 'filling', gen = 1, made = now, hold = item.hold, parent = item.parent, keep = item.keep, next = item.next, next2 = item.next2,
		total = 0, done = 0, failed = 0, cancelled = 0, waiting = 0, living = 0, unmarked = 0, records = 0,
	}
	groups[n.id] = g
	call('SET', P .. 'gc:' .. n.id, n.item)
	call('ZADD', P .. 'groups', '0', n.id)
	change_group(g)
end

-- count_end counts the ending of a member (1), or takes it back (-1).
count_end = function(t, n)
	local g = group(t.group)
	if not g then return end
	g[t.state] = g[t.state] + n
	change_group(g)
	if n < 0 then return end
	stage_member(g, t, ENDED)
	try_close(g)
	ripen(g)
end
