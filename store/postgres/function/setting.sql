-- What governs claims, and schedules.

-- put_limit sets a limit. request: key, most, rates, steps, bursts, declared. It returns the one that stood before.
create or replace function put_limit(req jsonb) returns jsonb language plpgsql as $$
declare
	now constant bigint := begin_step(req);
	l lim;
begin
	insert into lim (key) values (req->>'key') on conflict do nothing;
	select * into l from lim where key = req->>'key' for update;
	update lim set
		is_set = (req->>'most')::bigint > 0 or jsonb_array_length(req->'rates') > 0, most = (req->>'most')::bigint, rates = req->'rates',
		declared = coalesce((req->>'declared')::boolean, false),
		steps = (select coalesce(array_agg(e::bigint order by i), '{}') from jsonb_array_elements_text(req->'steps') with ordinality x (e, i)),
		bursts = (select coalesce(array_agg(e::bigint order by i), '{}') from jsonb_array_elements_text(req->'bursts') with ordinality x (e, i)),
		-- A rate that stays is not opened by being set again.
		tats = (select coalesce(array_agg(coalesce((
			select l.tats[o.i] from jsonb_array_elements(l.rates) with ordinality o (e, i) where o.e = x.e order by o.i limit 1
		), 0) order by x.i), '{}') from jsonb_array_elements(req->'rates') with ordinality x (e, i))
	where key = req->>'key';
	delete from lim where key = req->>'key' and not is_set and running = 0;
	perform note_all();
	return jsonb_build_object('set', l.is_set, 'most', l.most, 'rates', l.rates, 'declared', l.declared, 'hints', hints());
end $$;

-- put_pause keeps claims away from a scope. request: queue, kind, lane, reason, for.
create or replace function put_pause(req jsonb) returns jsonb language plpgsql as $$
declare
	now constant bigint := begin_step(req);
begin
	insert into pause (queue, kind, lane, reason, at, until)
	values (req->>'queue', req->>'kind', req->>'lane', bytes(req->>'reason'), now, now + nullif((req->>'for')::bigint, 0))
	on conflict (queue, kind, lane) do update set reason = excluded.reason, at = excluded.at, until = excluded.until;
	delete from pause where until <= now;
	return '{}';
end $$;

-- resume ends the pause of exactly this scope. request: queue, kind, lane.
create or replace function resume(req jsonb) returns jsonb language plpgsql as $$
declare
	now constant bigint := begin_step(req);
begin
	delete from pause where queue = req->>'queue' and kind = req->>'kind' and lane = req->>'lane';
	if found then
		perform note_all();
	end if;
	return jsonb_build_object('hints', hints());
end $$;

-- put_weight sets how many tasks lanes with this key give in a turn. request: queue, lane, weight.
create or replace function put_weight(req jsonb) returns jsonb language plpgsql as $$
begin
	insert into weight (queue, lane, weight) values (req->>'queue', req->>'lane', (req->>'weight')::bigint)
	on conflict (queue, lane) do update set weight = excluded.weight;
	return '{}';
end $$;

-- put_schedule creates a schedule (version 0) or replaces the one whose version it names. request: the schedule.
create or replace function put_schedule(req jsonb) returns jsonb language plpgsql as $$
declare
	now constant bigint := begin_step(req);
	seen constant bigint := coalesce((req->>'version')::bigint, 0);
	stays boolean; -- the rule
begin
	if seen = 0 then
		insert into schedule (name, rule, zone, catch_up, overlap, jitter, paused, declared, task, version, next_at, created_at, updated_at)
		values (req->>'name', bytes(req->>'rule'), bytes(req->>'zone'), bytes(req->>'catch_up'), req->>'overlap', (req->>'jitter')::bigint,
			(req->>'paused')::boolean, bytes(req->>'declared'), req->'task', 1, (req->>'next')::bigint, now, now)
		on conflict do nothing;
		return case when found then '{}'::jsonb else jsonb_build_object('err', 'changed') end;
	end if;
	select rule = bytes(req->>'rule') and zone = bytes(req->>'zone') into stays from schedule where name = req->>'name' for update;
	update schedule s set
		rule = bytes(req->>'rule'), zone = bytes(req->>'zone'), catch_up = bytes(req->>'catch_up'), overlap = req->>'overlap',
		jitter = (req->>'jitter')::bigint, paused = (req->>'paused')::boolean, task = req->'task', version = s.version + 1,
		declared = bytes(req->>'declared'), updated_at = now,
		-- A tick may have come since the caller looked.
		next_at = case when stays and (req->>'next')::bigint <= s.last_tick then s.next_at else (req->>'next')::bigint end,
		last_tick = case when stays then s.last_tick end
	where s.name = req->>'name' and s.version = seen;
	return case when found then '{}'::jsonb else jsonb_build_object('err', 'changed') end;
end $$;

-- tick submits the task of one tick and advances the schedule. request: name, version, last, tick, next, skip, id
-- of the task, and the task itself if it is not as the schedule has it.
create or replace function tick(req jsonb) returns jsonb language plpgsql as $$
declare
	now constant bigint := begin_step(req);
	at constant bigint := (req->>'tick')::bigint;
	last constant bigint := (req->>'last')::bigint;
	s schedule;
	over boolean;
	sub jsonb;
begin
	select * into s from schedule where name = req->>'name' for update;
	if not found then
		return jsonb_build_object('err', 'notfound');
	end if;
	if s.paused or s.version <> (req->>'version')::bigint or s.last_tick is distinct from last then
		return jsonb_build_object('err', 'changed');
	end if;
	if at > now or at <= last then
		return jsonb_build_object('err', 'invalid');
	end if;
	over := exists (select 1 from task where id = s.last_task);
	if not coalesce((req->>'skip')::boolean, false) and (not over or s.overlap <> '') then
		sub := submit_one(coalesce(req->'task', s.task) || jsonb_build_object('id', req->>'id'), true, now);
		update schedule set last_task = (sub->>0)::uuid where name = s.name;
	end if;
	update schedule set last_tick = at, next_at = (req->>'next')::bigint, updated_at = now where name = s.name;
	return jsonb_build_object('task', sub->>0, 'overlapped', over, 'hints', hints());
end $$;
