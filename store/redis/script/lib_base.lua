-- What every operation begins with: the clock, the request, and what a step keeps until its end.
--
-- keys[1]  the prefix of all keys of the namespace, hash tag and all
-- args[1]  the clock in microseconds where a test sets it; empty: the server's own
-- args[2]  the request, args[3] the times of the protocol, both as msgpack
--
-- An operation reads records into tables, decides, and writes what has changed when it ends. Times are microseconds since 1970,
-- which a double holds exactly until 2255. Ids are 16 raw bytes, and nil is none. Strings are never compared by < here: the
-- server collates by its locale.
-- What the server has only once a function runs.
local call, pack, unpack_, unpack_one, fmt, sub, concat, floor, min, max

local T, T_raw -- the times of the protocol, which seldom change from one step to the next

-- What is of one step alone.
local P, now, req
local tasks, dirty_tasks, groups, dirty_groups, lanes, dirty_lanes, limits, dirty_limits
local tops     -- the highest levels, by queue and kind
local deferred -- while a claim goes through a queue: the lanes that have come to be meanwhile, which it does not look at
local there -- whether there are pauses, weights, limits that have reopened, lanes that wait, once that was asked for
local packed   -- records as they are to be written, without their history
local held     -- how many tasks workers hold, once that was asked for
local soonest  -- when the first task is due, once that was asked for; false: none is
local stats, tallies                              -- to be added to counts
local told_work, told_tasks, told_asks, told_all  -- to be told to those who watch
local items -- what was submitted of the tasks that a claimer gets, which goes beside the answer: nil if it is none
local followed -- whether anybody follows a task, once that was asked for

-- begin forgets the step before.
local function begin(keys, args)
	if not call then
		call, pack, unpack_, unpack_one = redis.call, cmsgpack.pack, cmsgpack.unpack, cmsgpack.unpack_one
		fmt, sub, concat = string.format, string.sub, table.concat
		floor, min, max = math.floor, math.min, math.max
	end
	P = keys[1]
	if args[1] ~= '' then
		now = tonumber(args[1])
	else
		local t = call('TIME')
		now = t[1] * 1000000 + t[2]
	end
	req = unpack_(args[2])
	if args[3] ~= T_raw then T, T_raw = unpack_(args[3]), args[3] end
	-- What is still empty stays: most steps touch few of these.
	if not tasks or next(tasks) then tasks = {} end
	if not dirty_tasks or next(dirty_tasks) then dirty_tasks = {} end
	if not groups or next(groups) then groups = {} end
	if not dirty_groups or next(dirty_groups) then dirty_groups = {} end
	if not lanes or next(lanes) then lanes = {} end
	if not dirty_lanes or next(dirty_lanes) then dirty_lanes = {} end
	if not limits or next(limits) then limits = {} end
	if not dirty_limits or next(dirty_limits) then dirty_limits = {} end
	if not tops or next(tops) then tops = {} end
	if not packed or next(packed) then packed = {} end
	if not held or next(held) then held = {} end
	if not stats or next(stats) then stats = {} end
	if not tallies or next(tallies) then tallies = {} end
	if not told_work or next(told_work) then told_work = {} end
	if not told_tasks or next(told_tasks) then told_tasks = {} end
	if not told_asks or next(told_asks) then told_asks = {} end
	told_all = false
	deferred, soonest, followed, items, there = nil, nil, nil, nil, { wait = {} }
end

local CHUNK = 100
local MOUTHFUL = 8388608 -- bytes that one answer holds, and at least one record
local NEVER = 9007199254740991 -- later than any time
local HISTORY = 20

-- str writes a whole number so that nothing is rounded or put into an exponent.
local function str(n) return n == 1 and '1' or fmt('%d', n) end

-- batch runs a command with many arguments, so many at a time. A key of its own comes first, if it has one.
local function batch(cmd, key, list)
	for i = 1, #list, 200 do
		if key then
			call(cmd, key, unpack(list, i, min(i + 199, #list)))
		else
			call(cmd, unpack(list, i, min(i + 199, #list)))
		end
	end
end

-- add_many puts members into a sorted set that then has n of them, or more. The server keeps a short set as a list, and goes through that list for
-- each member that comes or goes. A member that is too long for a list turns it into a tree, and leaves at once.
local function add_many(key, list, n)
	if n < 25 or #list < 16 then return batch('ZADD', key, list) end
	local long = '-----------------------------------------------------------------'
	call('ZADD', key, '0', long)
	batch('ZADD', key, list)
	call('ZREM', key, long)
end

-- be8 writes a whole number as eight bytes that sort as the number does.
local function be8(n)
	if n < 0 then n = 0 end
	return struct.pack('>I8', n)
end

local function uuid(id)
	if not id then return '' end
	local h = id:gsub('.', function(c) return fmt('%02x', c:byte()) end)
	return sub(h, 1, 8) .. '-' .. sub(h, 9, 12) .. '-' .. sub(h, 13, 16) .. '-' .. sub(h, 17, 20) .. '-' .. sub(h, 21, 32)
end

-- bad is an answer that the caller decides on: a word for machines, and a text.
local function bad(code, text) return { err = code, text = text } end

-- Statistics of the minute and counts of queues are added up and written once.
local function stat(t, what, n)
	local k = t.queue .. '\0' .. t.kind .. '\0' .. what
	stats[k] = (stats[k] or 0) + (n or 1)
end

local function tally(queue, what, n)
	local k = queue .. '\0' .. what
	tallies[k] = (tallies[k] or 0) + n
end

-- flushes write what a step has changed when it ends. They are one name: Lua bounds how many there may be.
local flushes = {}

do -- Lua bounds how many names one scope may have

-- add_up adds to the counts of a hash. It returns whether one is new, and those that have become 0, if any has.
local function add_up(key, sums)
	local new, zero, n = false, nil, 0
	for _ in pairs(sums) do n = n + 1 end
	if n < 3 then
		for k, n in pairs(sums) do
			local sum = n ~= 0 and call('HINCRBY', key, k, str(n)) or nil
			if sum == n then new = true end
			if sum == 0 then
				zero = zero or {}
				zero[#zero + 1] = k
			end
		end
		return new, zero
	end
	local fields = {}
	for k in pairs(sums) do fields[#fields + 1] = k end
	for from = 1, #fields, CHUNK do
		local list = {}
		for i, had in ipairs(call('HMGET', key, unpack(fields, from, min(from + CHUNK - 1, #fields)))) do
			local k = fields[from + i - 1]
			local sum = (tonumber(had or 0) or 0) + sums[k]
			if sum == sums[k] then new = true end
			if sum == 0 then
				zero = zero or {}
				zero[#zero + 1] = k
			end
			list[2 * i - 1], list[2 * i] = k, str(sum)
		end
		call('HSET', key, unpack(list))
	end
	return new, zero
end

flushes.sums = function()
	if next(stats) then
		local minute = str(floor(now / 60000000))
		if add_up(P .. 'stat:' .. minute, stats) then call('ZADD', P .. 'minutes', minute, minute) end
	end
	if next(tallies) then
		local _, zero = add_up(P .. 'queues', tallies)
		-- A queue that has no task on record is none. Other counts go through 0 all the time, and stay.
		for _, k in ipairs(zero or {}) do
			local queue = k:match('^([^%z]*)%ztotal$')
			if queue then
				local name = queue .. '\0'
				call('HDEL', P .. 'queues', k, name .. 'ready', name .. 'running', name .. 'scheduled', name .. 'parked')
			end
		end
	end
end

end

-- Notices are hints, told when a step ends. Of tasks they are told only while somebody follows one.
local function notice_work(queue) told_work[queue] = true end

local function notice_all() told_all = true end

-- following reports whether anybody follows a task.
local function following()
	if followed == nil then followed = call('PUBSUB', 'NUMSUB', P .. 'notice:follow')[2] ~= 0 end
	return followed
end

local function notice_task(id)
	if following() then told_tasks[id] = true end
end

do

-- flush_followed tells of those tasks that somebody follows: mostly of few of them.
local function flush_followed()
	local list = {}
	for id in pairs(told_tasks) do list[#list + 1] = P .. 'notice:task:' .. id end
	for i = 1, #list, 200 do
		local counts = call('PUBSUB', 'NUMSUB', unpack(list, i, min(i + 199, #list)))
		for j = 1, #counts, 2 do
			if counts[j + 1] ~= 0 then call('PUBLISH', counts[j], '') end
		end
	end
end

flushes.notices = function()
	if told_all then call('PUBLISH', P .. 'notice:all', '') end
	for queue in pairs(told_work) do call('PUBLISH', P .. 'notice:work:' .. queue, '') end
	for id, worker in pairs(told_asks) do call('PUBLISH', P .. 'notice:asked:' .. worker, id) end
	if next(told_tasks) then flush_followed() end
end

end
