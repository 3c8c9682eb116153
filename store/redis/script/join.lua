-- flags: allow-oom
-- uses: fleet
-- Join creates a worker.
-- takes {schema, worker, beat, deadafter, info, remote, cid, run}, returns {} or {err}
-- keeps: no id joins twice while it is on record.
local schema = tonumber(call('HGET', P .. 'meta', 'schema') or 0)
if schema > req.schema then return pack(bad('newer', str(schema))) end
if call('EXISTS', P .. 'w:' .. req.worker) == 1 then return pack(bad('duplicate', 'worker ' .. req.worker)) end
write_worker({
	id = req.worker, beat = req.beat, deadafter = req.deadafter, info = req.info, joined = now, at = now,
	cid = req.cid, run = req.run, since = req.cid and now, session = req.cid and true,
	remote = req.remote,
})
call('ZADD', P .. 'workers', '0', req.worker)
call('ZADD', P .. 'alive', str(req.deadafter), req.worker)
call('ZADD', P .. 'beats', str(now), req.worker)
return pack({})
