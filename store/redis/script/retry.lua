-- flags: allow-oom
-- uses: derive
-- Retry makes a failed or cancelled task ready in its next round.
-- takes {id}, returns {} or {err}
-- keeps: its checkpoint; the unique key is taken again or the call is refused.
-- reopen takes a member back whose ending no longer counts.
local function reopen(g, t)
	stage_member(g, t, LIVING)
	if g.state ~= 'closed' then return end
	-- The keeper of the generation before no longer speaks for this one.
	if g.keeper then call('SREM', P .. 'keeps:' .. g.keeper, g.id) end
	g.state, g.closed, g.expiring, g.keeper = 'open', nil, nil, nil
	g.gen = g.gen + 1
	if g.next then
		g.next = derive('close', uuid(g.id), str(g.gen))
		g.next2 = g.next2 and derive('end', uuid(g.next), '0')
	end
	change_group(g)
end

local function again(t)
	local g = group(t.group)
	if g and g.state ~= 'open' then
		t.due, t.reason = now, 'group'
		return move(t, 'held')
	end
	make_ready(t)
end

-- next_round begins anew; the task that follows its ending then has another id.
local function next_round(t)
	if t.state == 'failed' then call('ZREM', P .. 'failed', t.id) end
	if t.expire then call('ZREM', P .. 'expiry', t.id) end
	if t.result then call('DEL', P .. 'r:' .. t.id) end
	t.round = (t.round or 0) + 1
	t.tries, t.crashes, t.run, t.suspect, t.solo, t.charged = nil, nil, nil, nil, nil, nil
	t.asked, t.told, t.result, t.marked, t.ended, t.expire = nil, nil, nil, nil, nil, nil
	if t.next then
		t.next = derive('end', uuid(t.id), str(t.round))
		local item = cold(t.id)
		item.next = t.next
		call('SET', P .. 'c:' .. t.id, pack(item))
	end
end

local t = task(req.id)
if not t then return answer(bad('notfound', 'task ' .. uuid(req.id))) end
local what = 'retry task ' .. uuid(t.id)
if t.state ~= 'failed' and t.state ~= 'cancelled' or t.stripped then return answer(bad('state', what .. ', which is ' .. seen_as(t))) end
local g = group(t.group)
if g and g.aborting then return answer(bad('state', what .. ' of an aborted group')) end
if t.key then
	local h = holder(t.kind, t.key)
	if h and h.id ~= t.id then return answer(bad('duplicate', fmt('%s: unique key %q is held by task %s', what, t.key, uuid(h.id)))) end
	take_key(t)
end
count_end(t, -1)
next_round(t)
event(t, 'again')
breaks.mend(t)
join_line(t)
if g then reopen(g, t) end
again(t)
return answer({})
