-- flags: no-writes
-- List reads a piece of an index of tasks; the caller picks those that match.
-- takes {index, lex (members of a group come with their line before the id), from, newest, limit, payload}
-- returns {list = {{id, task, item, result}}, last (where to go on; nil: at the end)}
-- keeps: it changes nothing, and reads at most what it was asked for.
local ids
if req.newest then
	ids = call('ZREVRANGEBYLEX', P .. req.index, req.from == '' and '+' or '(' .. req.from, '-', 'LIMIT', 0, req.limit)
else
	ids = call('ZRANGEBYLEX', P .. req.index, req.from == '' and '-' or '(' .. req.from, '+', 'LIMIT', 0, req.limit)
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

local list, bytes, last = {}, 0, #ids == req.limit and ids[#ids] or nil
for _, m in ipairs(ids) do
	local id = sub(m, -16)
	local t = call('GET', P .. 't:' .. id)
	if t then
		local item, result = bare(call('GET', P .. 'c:' .. id)), req.payload and call('GET', P .. 'r:' .. id) or nil
		list[#list + 1] = { id, t, item, result }
		bytes = bytes + #t + #item + #(result or '')
		if bytes >= MOUTHFUL and m ~= ids[#ids] then
			last = m
			break
		end
	end
end
return pack({ list = list, last = last })
