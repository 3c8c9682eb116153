-- Workers: the record in w:<id>; all of them, the living by their dead-after and by their last beat, and the dead are indexed.
local function read_worker(id)
	local w = read_map(P .. 'w:' .. id)
	if w then w.id = id end
	return w
end

local function write_worker(w)
	local id = w.id
	w.id = nil
	call('SET', P .. 'w:' .. id, pack(w))
	w.id = id
end

-- shortest returns the shortest dead-after of the living, and how many they are.
local function shortest()
	local first = call('ZRANGE', P .. 'alive', '0', '0', 'WITHSCORES')
	return tonumber(first[2] or NEVER), call('ZCARD', P .. 'alive')
end

-- every is how long a worker is told to wait between beats: a large fleet beats two hundred times a second.
local function every(w)
	local least, living = shortest()
	return min(max(w.beat, living * 5000), least / 5)
end

-- die marks a worker as dead, once and for ever.
local function die(w, how)
	if w.dead then return end
	w.dead, w.death, w.cid, w.run, w.since, w.gone, w.vouched = now, how, nil, nil, nil, nil, nil
	call('HDEL', P .. 'seen', w.id)
	w.heldat = call('ZCARD', P .. 'held:' .. w.id)
	call('ZREM', P .. 'alive', w.id)
	call('ZREM', P .. 'beats', w.id)
	call('ZADD', P .. 'dead', '0', w.id)
	write_worker(w)
end

-- bury removes the record of a dead worker under which nothing runs.
local function bury(id)
	call('DEL', P .. 'w:' .. id, P .. 'asks:' .. id)
	call('ZREM', P .. 'dead', id)
	call('ZREM', P .. 'workers', id)
	call('SREM', P .. 'holders', id)
end
