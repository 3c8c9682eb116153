-- flags: none
-- PutChunk stores one chunk of a blob.
-- takes {key, number, data}, returns {} or {err}
-- keeps: a chunk is written once; the same again has no effect.
local key = P .. 'blob:' .. req.key
local have = call('HGET', key, req.number)
if have and have ~= req.data then return pack(bad('duplicate', 'chunk ' .. req.number .. ' of blob ' .. req.key)) end
if not have then
	call('HSET', key, req.number, req.data)
	call('ZADD', P .. 'blobs', '0', req.key)
	call('HSET', P .. 'blobat', req.key, str(now))
end
return pack({})
