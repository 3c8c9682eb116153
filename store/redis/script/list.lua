-- flags: no-writes
-- List reads tasks by their ids, or a piece of an index of tasks; the caller picks those that match. Of those that cannot match by their
-- state, kind or queue nothing is told.
-- takes {ids} or {index (members of a group come with their line before the id), from, newest, look}, {limit, states, kinds, queue, payload}
-- returns {list = {{id, task, item, result}}, last (where to go on; nil: at the end)}
-- keeps: it changes nothing, and looks at no more than it was asked for.
local members = {}
if req.ids then
	for i = 1, #req.ids, 16 do members[#members + 1] = sub(req.ids, i, i + 15) end
elseif req.newest then
	members = call('ZREVRANGEBYLEX', P .. req.index, req.from == '' and '+' or '(' .. req.from, '-', 'LIMIT', 0, req.look)
else
	members = call('ZRANGEBYLEX', P .. req.index, req.from == '' and '-' or '(' .. req.from, '+', 'LIMIT', 0, req.look)
end

-- any_of returns how one of some values stands in a record; nil if any will do.
local function any_of(field, values)
	if not values then return nil end
	local list = { name = pack(field) }
	for i, value in ipairs(values) do list[i] = sub(pack({ [field] = value }), 2) end
	return list
end

-- lacks reports whether a record tells none of some values for a field.
local function lacks(raw, texts)
	for _, text in ipairs(texts) do
		if raw:find(text, 1, true) then return false end
	end
	return true
end

local states, kinds, queues = any_of('state', req.states), any_of('kind', req.kinds), any_of('queue', req.queue and { req.queue })

-- may_match reports whether a record may be one that is wanted: its fields stand in it as they are packed. One that cannot be read is in no
-- state; its kind and its queue, where it does not tell them, are those that were submitted.
local function may_match(raw)
	if states and lacks(raw, states) then return false end
	if kinds and lacks(raw, kinds) and raw:find(kinds.name, 1, true) then return false end
	return not (queues and lacks(raw, queues) and raw:find(queues.name, 1, true))
end

-- bare is an item without its args, unless they are asked for or too small to matter.
local function bare(raw)
	if not raw then return '' end
	if req.payload or #raw < 2048 then return raw end
	local ok, item = pcall(unpack_, raw)
	if not ok or type(item) ~= 'table' then return '' end
	item.args = nil
	return pack(item)
end

local list, bytes, last = {}, 0, not req.ids and #members == req.look and members[#members] or nil

local function read(id, raw)
	local item, result = bare(call('GET', P .. 'c:' .. id)), req.payload and call('GET', P .. 'r:' .. id) or nil
	list[#list + 1] = { id, raw, item, result }
	bytes = bytes + #raw + #item + #(result or '')
end

for from = 1, #members, CHUNK do
	local ids = {}
	for i = from, min(from + CHUNK - 1, #members) do ids[#ids + 1] = sub(members[i], -16) end
	for i, raw in ipairs(fetch(ids)) do
		if raw and may_match(raw) then read(ids[i], raw) end
		local at = from + i - 1
		if at < #members and (bytes >= MOUTHFUL or #list >= req.limit) then return pack({ list = list, last = members[at] }) end
	end
end
return pack({ list = list, last = last })
