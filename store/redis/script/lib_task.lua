-- Records of tasks: what changes stands in t:<id>, what was submitted in c:<id> (see keys.go).

-- from_item begins a record with what of a Spec a step needs without reading c:<id>.
local function from_item(item)
	return {
		kind = item.kind, queue = item.queue, lane = item.lane, limit = item.limit, order = item.order, prio = item.prio,
		group = item.group, parent = item.parent, owned = item.owned, timeout = item.timeout, keep = item.keep,
		key = item.key, keyfor = item.keyfor, next = item.next,
	}
end

-- read_map reads a record; nil if there is none, false if it makes no sense.
local function read_map(key)
	local raw = redis.pcall('GET', key)
	if not raw then return nil end
	if type(raw) ~= 'string' then return false end
	local ok, m = pcall(unpack_, raw)
	if not ok or type(m) ~= 'table' then return false end
	return m
end

local function cold(id) return read_map(P .. 'c:' .. id) or {} end

-- decode takes the record of a task apart: its history stands behind the map, and stays whole.
local function decode(raw)
	local ok, at, m = pcall(unpack_one, raw)
	if not ok or type(m) ~= 'table' then return false end
	if at ~= -1 then m.hist = sub(raw, at + 1) end
	return m
end

-- fetch reads records as they are stored, all at once: false where there is none.
local function fetch(ids)
	local keys = {}
	for i, id in ipairs(ids) do keys[i] = P .. 't:' .. id end
	return #keys > 0 and call('MGET', unpack(keys)) or {}
end

local task

do -- Lua bounds how many names one scope may have

local function read_task(id)
	local raw = redis.pcall('GET', P .. 't:' .. id)
	if not raw then return nil end
	if type(raw) ~= 'string' then return false end
	return decode(raw)
end

local function legible(t) return t and type(t.state) == 'string' and type(t.queue) == 'string' and type(t.kind) == 'string' end

-- task returns a record, or nil. Of one that cannot be read it tells what was submitted, and marks it as corrupt. raw is what
-- fetch has read of it, if it has.
task = function(id, raw)
	if not id then return nil end
	local t = tasks[id]
	if t == nil then
		t = raw and decode(raw) or read_task(id)
		if t == nil then
			t = false
		elseif not legible(t) then
			t = from_item(cold(id))
			t.queue, t.kind = t.queue or 'corrupt', t.kind or 'corrupt'
			t.state, t.corrupt = 'corrupt', true
			t.stage = t.group and tonumber(call('ZSCORE', P .. 'stages:' .. t.group, id) or nil)
		end
		if t then t.id = id end
		tasks[id] = t
	end
	return t or nil
end

end

local function terminal(state) return state == 'done' or state == 'failed' or state == 'cancelled' end

-- seen_as is the state as a reader sees it.
local function seen_as(t)
	if t.state == 'running' and t.staged then return 'ending' end
	return t.state
end

-- change notes that a record is to be written. One that cannot be read stays so until it is ended for it.
local function change(t)
	packed[t.id] = nil
	if not t.corrupt then dirty_tasks[t.id] = t end
end

local function touch(t)
	t.ver = (t.ver or 0) + 1
	t.upd = now
	change(t)
	notice_task(t.id)
end

-- event adds a line to a history, of which the newest are kept.
local function event(t, kind, text)
	local hist, n = t.hist or '', t.nhist or 0
	if n >= HISTORY then
		hist = sub(hist, 5 + struct.unpack('>I4', hist))
		n = n - 1
	end
	local line = pack({ now, kind, t.epoch or 0, t.worker or '', text or '' })
	t.hist, t.nhist = hist .. struct.pack('>I4', #line) .. line, n + 1
	change(t)
end

-- pack_task writes a record without its history.
local function pack_task(t)
	local id, hist = t.id, t.hist
	local text = packed[id]
	if not text then
		t.id, t.hist = nil, nil
		text = pack(t)
		t.id, t.hist = id, hist
		packed[id] = text
	end
	return text
end

-- alike is about records that are the same but for the ids of other tasks in them: of the one that follows, and of the parent. Tasks that were
-- submitted, claimed or ended together are mostly so, and what a step makes of one of them it makes of the others. It is one name: Lua bounds
-- how many there may be.
local alike = {}

do

local NEXT, PARENT = '\164next\176', '\166parent\176' -- as msgpack writes the names, and that 16 bytes follow

-- shape returns a record without these ids, the ids, and behind which byte each stands; without its ids a record tells which others are like it.
alike.shape = function(raw)
	local _, n = raw:find(NEXT, 1, true)
	local _, p = raw:find(PARENT, 1, true)
	if n and p and (n < p and p < n + 24 or p < n and n < p + 22) then return raw end -- one inside the other: it is something else
	local next, parent = n and sub(raw, n + 1, n + 16), p and sub(raw, p + 1, p + 16)
	if not n and not p then return raw end
	local first, second = n or p, n and p
	if second and second < first then first, second = second, first end
	if not second then return sub(raw, 1, first) .. sub(raw, first + 17), next, parent, n, p end
	return sub(raw, 1, first) .. sub(raw, first + 17, second) .. sub(raw, second + 17), next, parent, n, p
end

-- mould takes a record apart so that it can be made again with other ids; nil if these ids are not found where they are looked for.
alike.mould = function(text, next, parent)
	local _, has_next, has_parent, n, p = alike.shape(text)
	if (has_next or nil) ~= next or (has_parent or nil) ~= parent then return nil end
	if not n and not p then return { text } end
	if not n or not p then return { sub(text, 1, n or p), sub(text, (n or p) + 17) } end
	local first, second = min(n, p), max(n, p)
	return { sub(text, 1, first), sub(text, first + 17, second), sub(text, second + 17), parent_first = p < n }
end

-- cast makes a record of a mould and ids.
alike.cast = function(m, next, parent)
	if not m[2] then return m[1] end
	if not m[3] then return m[1] .. (next or parent) .. m[2] end
	if m.parent_first then return m[1] .. parent .. m[2] .. next .. m[3] end
	return m[1] .. next .. m[2] .. parent .. m[3]
end

end

flushes.tasks = function()
	if not next(dirty_tasks) then return end
	local list = {}
	for id, t in pairs(dirty_tasks) do
		if not t.removed then
			local n = #list
			list[n + 1], list[n + 2] = P .. 't:' .. id, pack_task(t) .. (t.hist or '')
		end
	end
	batch('MSET', nil, list)
	dirty_tasks = {}
end

-- Entries of a checkpoint are a hash; false removes one.
local function set_entries(t, entries)
	local list = {}
	for name, value in pairs(entries or {}) do
		local n = #list
		if value then
			list[n + 1], list[n + 2] = name, value
		elseif t.entries then
			call('HDEL', P .. 'e:' .. t.id, name)
		end
	end
	if #list == 0 then return end
	batch('HSET', P .. 'e:' .. t.id, list)
	t.entries = true
end

-- The inbox is a hash by message id. A message that was consumed leaves its id behind.
local function consume(t, ids)
	if not t.inbox or t.inbox == 0 then return end
	for _, id in ipairs(ids or {}) do
		local m = call('HGET', P .. 'i:' .. t.id, id)
		if m and m ~= '' then
			call('HSET', P .. 'i:' .. t.id, id, '')
			t.inbox = t.inbox - 1
		end
	end
end

-- forget_inbox empties an inbox: what was not used is another chance if it is sent again after a Retry.
local function forget_inbox(t)
	if not t.inbox or t.inbox == 0 then return end
	local all = call('HGETALL', P .. 'i:' .. t.id)
	for i = 1, #all, 2 do
		if all[i + 1] ~= '' then call('HDEL', P .. 'i:' .. t.id, all[i]) end
	end
	t.inbox = 0
end

local judge

do

local SUSPICION, CRASH_BUDGET = 2, 20

-- judge sets whether a task is a suspect by what it has been through.
judge = function(t)
	t.suspect = ((t.run or 0) >= SUSPICION or (t.crashes or 0) >= CRASH_BUDGET) or nil
	t.solo = (t.solo and t.suspect) or nil
end

end

local function absolve(t)
	t.run = nil
	judge(t)
end
