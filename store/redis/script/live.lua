-- flags: no-writes
-- live finds the tasks in some states where these stand beside the others: what is ready in its lane, what runs with its worker, what waits for
-- a time or for a wake by that, what failed apart.
-- takes {states = {state = true}, queue, most}, returns {ids}, in no order, or {many}: they are too many, or not all can be found so
-- keeps: it changes nothing, and all it finds is of one moment. Some it finds may be in other states: the caller picks.
local ids, looked = {}, 0

-- add adds what stands in an index, unless that is too much.
local function add(key)
	local list = call('ZRANGE', P .. key, '0', str(max(req.most - looked, 0)))
	looked = looked + #list + 1
	for _, m in ipairs(list) do ids[#ids + 1] = sub(m, -16) end
end

local counts, parked = call('HGETALL', P .. 'queues'), 0

local function add_lanes(queue)
	local names = call('ZRANGE', P .. 'names:' .. queue, '0', str(req.most))
	for _, name in ipairs(names) do
		if looked > req.most then return end
		add('ready:' .. queue .. '\0' .. name)
	end
end

for i = 1, #counts, 2 do
	local queue, what = counts[i]:match('^([^%z]*)%z(.*)$')
	local n = tonumber(counts[i + 1]) or 0
	if what == 'parked' then parked = parked + n end
	if what == 'ready' and req.states.ready and (not req.queue or req.queue == queue) then
		if n > req.most then return pack({ many = true }) end
		add_lanes(queue)
	end
end
if req.states.running then
	for _, worker in ipairs(call('SMEMBERS', P .. 'holders')) do
		if looked <= req.most then add('held:' .. worker) end
	end
end
if req.states.failed then add('failed') end

-- Those that are parked stand in two indexes. A program of an older version does not write the second: then the count tells.
local function all_parked(from)
	local found, text = 0, sub(pack({ state = 'parked' }), 2)
	for first = from, #ids, CHUNK do
		local piece = { unpack(ids, first, min(first + CHUNK - 1, #ids)) }
		for _, raw in ipairs(fetch(piece)) do
			local t = raw and raw:find(text, 1, true) and decode(raw)
			if t and t.state == 'parked' then found = found + 1 end
		end
	end
	return found == parked
end

local from = #ids + 1
if req.states.scheduled or req.states.parked and parked > 0 then add('due') end
if req.states.parked and parked > 0 and looked <= req.most then
	add('idle')
	if looked <= req.most and not all_parked(from) then return pack({ many = true }) end
end
if looked > req.most then return pack({ many = true }) end
return pack({ ids = concat(ids) })
