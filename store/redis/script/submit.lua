-- flags: none
-- uses: store
-- Submit stores tasks and groups, and may claim the tasks for the submitter.
-- takes {groups = {{id, item, seal}} or nil, heads, specs = {id, item, head, line, …}, claim}, returns {odd = {number, {...}, …}, ids, hots, which, claimerr} and items:
-- a head (msgpack) is what the records of plain tasks begin with, and those that have one name it by its number; odd tells what became of the others
-- keeps: an item that is refused changes nothing, and the others stand. Without room it is refused as a whole.
local living = req.claim and alive(req.claim.worker)
if living and not req.groups and #req.heads == 1 then
	local gift = store_running(req.claim, req.specs, req.heads[1])
	if gift then return answer(gifts.hand({ odd = {} }, gift)) end
end
local created = req.groups or {}
for _, g in ipairs(created) do create_group(g) end
local res = { odd = store_specs(req.specs, req.heads) }
for _, g in ipairs(created) do
	if g.seal and req.last then seal(group(g.id)) end
end
if living then
	gifts.hand(res, claim_submitted(req.claim, req.specs, res.odd))
elseif req.claim then
	res.claimerr = dead(req.claim.worker)
elseif #res.odd == 0 then
	res = nil
end
return answer(res)
