-- flags: none
-- Submit stores tasks and groups, and may claim the tasks for the submitter.
-- takes {groups = {{id, item, seal}}, heads, specs = {{id, item, head}}, claim}, returns {specs = {state or {...}}, tasks, claimerr}:
-- a head is what the records of plain tasks begin with, and those that have one name it by its number
-- keeps: an item that is refused changes nothing, and the others stand. Without room it is refused as a whole.
local res = { specs = {} }

-- Most tasks wait for nothing and nobody: they differ by id and item alone. Such are stored together, once one comes that is
-- otherwise or all are through.
local strings, ids, entries = {}, {}, {}

-- known finds out which tasks there are already. Mostly there are none.
local function known(specs)
	local keys = {}
	for i, s in ipairs(specs) do keys[i] = P .. 't:' .. s[1] end
	if #keys == 0 or call('EXISTS', unpack(keys)) > 0 then return end
	for _, s in ipairs(specs) do tasks[s[1]] = false end
end

-- template makes the record of a head, as it is stored, and where its tasks stand in their lane.
local function template(head)
	local t = from_item(head)
	t.made, t.due, t.ready, t.upd, t.ver, t.state = now, now, now, now, 1, 'ready'
	head.t, head.text = t, pack(t)
	t.id = ''
	head.place = member(t)
end

local function store_plain(id, raw, at)
	local head = req.heads[at]
	if not head.t then template(head) end
	tasks[id] = nil -- it is there once it is read again
	told_tasks[id] = true
	local n = #strings
	strings[n + 1], strings[n + 2], strings[n + 3], strings[n + 4] = P .. 'c:' .. id, raw, P .. 't:' .. id, head.text
	n = #ids
	ids[n + 1], ids[n + 2] = '0', id
	local list = entries[at] or {}
	entries[at], n = list, #list
	list[n + 1], list[n + 2] = '0', head.place .. id
	return 'ready'
end

local function flush_plain()
	batch('MSET', nil, strings)
	batch('ZADD', P .. 'all', ids)
	for at, list in pairs(entries) do
		local t, n = req.heads[at].t, #list / 2
		stat(t, 'submitted', n)
		tally(t.queue, 'total', n)
		tally(t.queue, 'ready', n)
		enqueue_all(t, list)
	end
	strings, ids, entries = {}, {}, {}
end

local function store(id, raw, at)
	if at and tasks[id] == false then return store_plain(id, raw, at) end
	flush_plain()
	return submit_item(id, unpack_(raw), raw, false)
end

known(req.specs)
for _, g in ipairs(req.groups) do create_group(g) end
for i, s in ipairs(req.specs) do res.specs[i] = store(s[1], s[2], s[3]) end
flush_plain()
for _, g in ipairs(req.groups) do
	if g.seal and req.last then seal(group(g.id)) end
end

local function claim_submitted(claim)
	if not alive(claim.worker) then
		res.claimerr = dead(claim.worker)
		return
	end
	if claim.again then
		res.tasks = repeated(claim)
		return
	end
	res.tasks = {}
	for i, s in ipairs(req.specs) do
		local t = task(s[1])
		local stored = res.specs[i]
		if not (stored ~= 'ready' and stored.err) and t and t.state == 'ready' and not t.suspect then
			local L = lane_of(t.queue, lane_name(t, false))
			local line = L.ordered and call('ZRANGE', P .. 'line:' .. line_name(t), '0', '0')[1]
			if not blocked(L) and (not line or line == t.id and not breaks.met(t)) then
				res.tasks[#res.tasks + 1] = claim_one(t, claim)
				if stored == 'ready' then res.specs[i] = 'running' else stored.state = 'running' end
			end
		end
	end
end

if req.claim then claim_submitted(req.claim) end
return answer(res)
