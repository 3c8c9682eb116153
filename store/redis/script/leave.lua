-- flags: allow-oom
-- uses: fleet recover
-- Leave marks a worker as left and puts a chunk of its tasks back.
-- takes {worker}, returns {more}
-- keeps: a worker that is dead already stays dead as it died.
local w = read_worker(req.worker)
if not w then return answer({}) end
die(w, 'left')
local ids = call('ZRANGE', P .. 'held:' .. w.id, 0, CHUNK)
for i = 1, min(#ids, CHUNK) do
	local t = running_of(ids[i], w.id)
	if t then put_back(t, w) end
end
return answer({ more = #ids > CHUNK or nil })
