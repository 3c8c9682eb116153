-- flags: no-writes
-- blobs pages through blobs, by key.
-- takes {after, limit}, returns {list = {key, age, …}}
-- keeps: it changes nothing.
local list = {}
for _, key in ipairs(call('ZRANGEBYLEX', P .. 'blobs', req.after == '' and '-' or '(' .. req.after, '+', 'LIMIT', 0, req.limit)) do
	list[#list + 1] = key
	list[#list + 1] = now - tonumber(call('HGET', P .. 'blobat', key) or now)
end
return pack({ list = list })
