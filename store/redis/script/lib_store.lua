-- Storing many tasks that are alike. Most tasks that are submitted wait for nothing, or for their group alone: they differ by id, item and
-- line, and their records begin with the same head. Such are gathered, and stored together once one comes that is otherwise or all
-- are through.
local store_specs, claim_submitted, store_running

do -- Lua bounds how many names one scope may have

local STRIDE = 4 -- of what a request tells of a task: id, item, the number of its head or false, its line or false

local gathered -- of this step: where in the request the tasks of each head stand that were gathered

local heads, known = {}, 0 -- heads that were met, of one step and the next

-- read_head takes a head apart: the record of its tasks but for the fields that head_of adds, and what of it lanes and counts are made of.
local function read_head(raw)
	local begins, queue, kind, lane, limit, prio, group = unpack(unpack_(raw))
	local t = { id = '', queue = queue, kind = kind, lane = lane, limit = limit, prio = prio, group = group }
	local head = { begins = begins, t = t, lane = lane_name(t, false) }
	head.submitted, head.total, head.ready = queue .. '\0' .. kind .. '\0submitted', queue .. '\0total', queue .. '\0ready'
	if known >= 1000 then heads, known = {}, 0 end
	heads[raw], known = head, known + 1
	return head
end

-- head_of returns a head, and the record of its tasks as it is stored now. The fields are written as msgpack does.
local function head_of(raw)
	local head = heads[raw] or read_head(raw)
	if head.at == now then return head end
	local at, t = '\207' .. be8(now), head.t
	local rest = t.group and '\165state\164held\166reason\165group\165stage\0' or '\165state\165ready\165ready' .. at
	head.text = head.begins .. '\164made' .. at .. '\163due' .. at .. '\163upd' .. at .. '\163ver\1' .. rest
	head.at, t.due, t.ready = now, now, now
	head.place = not t.group and member(t)
	return head
end

-- count_stored counts tasks of a head.
local function count_stored(head, n)
	stats[head.submitted] = (stats[head.submitted] or 0) + n
	tallies[head.total] = (tallies[head.total] or 0) + n
	if not head.t.group then tallies[head.ready] = (tallies[head.ready] or 0) + n end
end

-- store_ready puts tasks of a head into their lane.
local function store_ready(head, ids)
	local list, place = {}, head.place
	for i = 2, #ids, 2 do list[i - 1], list[i] = '0', place .. ids[i] end
	enqueue_all(head.t, list, head.lane)
end

-- store_members puts tasks of a head into their group.
local function store_members(head, ids, lines)
	local id, n = head.t.group, #ids / 2
	local g, list, stages = group(id), {}, {}
	for i = 2, #ids, 2 do
		list[i - 1], list[i] = '0', lines[i / 2] .. ids[i]
		stages[i - 1], stages[i] = WAITING, ids[i]
	end
	g.total, g.records, g.waiting, g.living = g.total + n, g.records + n, g.waiting + n, g.living + n
	g.ver = (g.ver or 0) + n - 1
	change_group(g)
	batch('ZADD', P .. 'members:' .. id, list)
	batch('ZADD', P .. 'stages:' .. id, stages)
end

-- store_alike stores tasks of one head, those that stand at some places of a request. It returns false, and has done nothing, if one of
-- them is there already.
local function store_alike(specs, head, places, from, to)
	local strings, ids, lines, n, c, h = {}, {}, {}, 0, P .. 'c:', P .. 't:'
	for i = from, to do
		local s = places[i]
		local id = specs[s]
		strings[2 * n + 1], strings[2 * n + 2], strings[2 * n + 3], strings[2 * n + 4] = c .. id, specs[s + 1], h .. id, head.text
		ids[n + 1], ids[n + 2], lines[n / 2 + 1] = '0', id, specs[s + 3] or ''
		n = n + 2
	end
	if call('MSETNX', unpack(strings)) == 0 then return false end
	if following() then
		for i = 2, n, 2 do told_tasks[ids[i]] = true end
	end
	batch('ZADD', P .. 'all', ids)
	count_stored(head, n / 2)
	if head.t.group then store_members(head, ids, lines) else store_ready(head, ids) end
	return true
end

-- store_lone stores a task that comes by itself, and waits for nothing. It returns false, and has done nothing, if it is there already.
local function store_lone(id, item, head)
	if call('MSETNX', P .. 'c:' .. id, item, P .. 't:' .. id, head.text) == 0 then return false end
	notice_task(id)
	call('ZADD', P .. 'all', '0', id)
	count_stored(head, 1)
	enqueue_all(head.t, { '0', head.place .. id }, head.lane)
	return true
end

-- store_gathered stores what was gathered, head by head; what cannot be stored so is stored by one.
local function store_gathered(specs, by_one)
	for raw, places in pairs(gathered) do
		local head = head_of(raw)
		local refused = head.t.group and joinable(head.t.group)
		for from = 1, #places, CHUNK do
			local to = min(from + CHUNK - 1, #places)
			if refused or not store_alike(specs, head, places, from, to) then
				for i = from, to do by_one(places[i]) end
			end
		end
	end
	gathered = {}
end

-- store_specs stores the tasks of a request. It returns what became of those that did not become what their head says: their number,
-- and an answer, in turn.
store_specs = function(specs, raws)
	if #specs == STRIDE and specs[3] then
		local head = head_of(raws[1])
		if not head.t.group and store_lone(specs[1], specs[2], head) then return {} end
	end
	local odd = {}
	gathered = {}
	local function by_one(s)
		local n = #odd
		odd[n + 1], odd[n + 2] = (s - 1) / STRIDE, submit_item(specs[s], unpack_(specs[s + 1]), specs[s + 1], false)
	end
	for s = 1, #specs, STRIDE do
		local raw = raws[specs[s + 2]]
		if raw then
			local places = gathered[raw]
			if not places then
				places = {}
				gathered[raw] = places
			end
			places[#places + 1] = s
		else
			if next(gathered) then store_gathered(specs, by_one) end
			by_one(s)
		end
	end
	store_gathered(specs, by_one)
	return odd
end

-- claim_submitted claims the tasks of a request that can be, in the order in which they stand.
claim_submitted = function(claim, specs, odd)
	if claim.again then return repeated(claim) end
	local gift, refused = gifts.new(), {}
	for i = 1, #odd, 2 do refused[odd[i]] = odd[i + 1].err and true end
	for s = 1, #specs, STRIDE do
		local t = task(specs[s])
		if not refused[(s - 1) / STRIDE] and t and t.state == 'ready' and not t.suspect then
			local L = lane_of(t.queue, lane_name(t, false))
			local line = L.ordered and call('ZRANGE', P .. 'line:' .. line_name(t), '0', '0')[1]
			if not blocked(L) and (not line or line == t.id and not breaks.met(t)) then claim_one(t, claim, gift) end
		end
	end
	return gift
end

-- run_at_once tells whether all tasks of a request are alike and can run at once for who submits them: they then need not stand in a lane
-- before.
local function run_at_once(claim, specs, t)
	if claim.again or t.group or t.limit ~= '' or #specs > STRIDE * CHUNK then return false end
	for s = 3, #specs, STRIDE do
		if not specs[s] then return false end
	end
	return not paused(t.queue, t.kind, t.lane)
end

-- started makes the record of tasks that run, as it is stored and as a claimer gets it.
local function started(t, claim, alone)
	t.state, t.ver, t.epoch, t.nonce, t.worker, t.start, t.alone = 'running', 2, 1, claim.nonce, claim.worker, now, alone and not claim.company or nil
	if t.timeout then t.deadline = now + floor(t.timeout / 1000) end
	t.hist, t.nhist = nil, nil
	event(t, 'claimed')
	dirty_tasks[t.id] = nil -- it is the record of many, and of none
	local hot = pack_task(t)
	packed[t.id] = nil
	return hot .. t.hist, hot
end

-- store_running stores the tasks of a request as ones that run, if they can be at once; nil: nothing was done. Of several that a worker
-- that held nothing gets, the first was alone when it was claimed, and then no longer.
store_running = function(claim, specs, raw)
	local head = head_of(raw)
	if not run_at_once(claim, specs, head.t) then return nil end
	local t = unpack_(head.text)
	t.id = ''
	local worker, n, gift = claim.worker, #specs / STRIDE, gifts.new()
	local first = held_count(worker) == 0
	local text, hot = started(t, claim, first and n == 1)
	local _, lone = started(t, claim, first)
	local strings, ids, ends = {}, {}, {}
	for i = 1, n do
		local s = (i - 1) * STRIDE + 1
		local id, at = specs[s], 4 * i - 3
		strings[at], strings[at + 1], strings[at + 2], strings[at + 3] = P .. 'c:' .. id, specs[s + 1], P .. 't:' .. id, text
		ids[2 * i - 1], ids[2 * i] = '0', id
		if t.deadline then ends[2 * i - 1], ends[2 * i] = str(t.deadline), id end
		gifts.add(gift, id, i == 1 and lone or hot, specs[s + 1])
	end
	if call('MSETNX', unpack(strings)) == 0 then return nil end
	company(worker)
	if first then call('SADD', P .. 'holders', worker) end
	held[worker] = held[worker] + n
	batch('ZADD', P .. 'all', ids)
	add_many(P .. 'held:' .. worker, ids, held[worker])
	add_many(P .. 'overdue', ends, held[worker])
	for i = 2, #ids, 2 do notice_task(ids[i]) end
	stat(t, 'submitted', n)
	stat(t, 'claimed', n)
	tally(t.queue, 'total', n)
	tally(t.queue, 'running', n)
	return gift
end

end
