-- flags: allow-oom
-- DeleteBlob removes some chunks of a blob, the last ones first.
-- takes {key, limit}, returns {more}
-- keeps: there need not be one.
local key = P .. 'blob:' .. req.key
local numbers = call('HKEYS', key)
table.sort(numbers, function(a, b) return tonumber(a) > tonumber(b) end)
for i = 1, min(#numbers, req.limit) do call('HDEL', key, numbers[i]) end
if #numbers > req.limit then return pack({ more = true }) end
call('ZREM', P .. 'blobs', req.key)
call('HDEL', P .. 'blobat', req.key)
return pack({})
