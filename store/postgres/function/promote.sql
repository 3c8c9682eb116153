-- What time makes ripe. Rows that others have locked are passed over: the next pass comes soon.

-- promote_due makes up to n tasks ready whose time has come. It returns how many it took.
create or replace function promote_due(n bigint, now bigint) returns bigint language plpgsql as $$
declare
	good uuid[];
	bad uuid[];
	t task;
begin
	if n <= 0 then
		return 0;
	end if;
	select coalesce(array_agg(d.id) filter (where d.is_good), '{}'), coalesce(array_agg(d.id) filter (where not d.is_good), '{}') into good, bad
	from (
		select o.id, readable(b.rest) as is_good from task o join body b on b.id = o.id
		where o.state in ('scheduled', 'parked') and o.due_at is not null and o.due_at <= now
		order by o.due_at, o.id limit n for update of o skip locked
	) d;
	if cardinality(good) > 0 then
		with moved as (
			update task o set state = 'ready', reason = '', ready_at = now, version = o.version + 1, updated_at = now,
				flag = lane_flag(o.ord, o.suspect), turn = case when o.ord = '' then o.due_at else 0 end
			where o.id = any (good)
			returning o.id, o.queue
		)
		select count(note_work(queue)) into n from (select distinct queue from moved) q;
		perform note_moving(good);
	end if;
	if cardinality(bad) > 0 then
		for t in select * from task where id = any (bad) loop
			select * into t from task where id = t.id; -- the end of one may have changed the next
			continue when not found;
			perform end_task(t, 'failed', 'corrupt', null, fault('corrupt', 'the record cannot be read'), now);
		end loop;
	end if;
	return cardinality(good) + cardinality(bad);
end $$;

-- expire_starts ends up to n tasks that were not started in time.
create or replace function expire_starts(n bigint, now bigint) returns bigint language plpgsql as $$
declare
	t task;
	done bigint := 0;
begin
	for t in
		select * from task where start_by_at is not null and start_by_at <= now order by start_by_at, id limit n for update skip locked
	loop
		select * into t from task where id = t.id and start_by_at <= now; -- the end of one may have changed the next
		continue when not found;
		perform expire_start(t, now);
		done := done + 1;
	end loop;
	return done;
end $$;

-- waiting_members locks up to n members after a given one that wait for their group to open.
create or replace function waiting_members(of uuid, after uuid, n bigint) returns uuid[] language plpgsql as $$
begin
	return (
		select coalesce(array_agg(w.id order by w.id), '{}') from (
			select id from task where grp = of and state = 'held' and reason = 'group' and id > coalesce(after, '00000000-0000-0000-0000-000000000000')
			order by id limit n for update skip locked
		) w
	);
end $$;

-- tend_group does up to n steps of what a ripe group, which is locked, needs.
create or replace function tend_group(g grp, n bigint, now bigint, out freed bigint, out aborted bigint, out marked bigint) language plpgsql as $$
declare
	t task;
	list uuid[];
	noted bigint;
begin
	freed := 0; aborted := 0; marked := 0;
	if g.aborting <> '' then
		for t in select * from task where grp = g.id and stage = 1 order by id limit n for update skip locked loop
			select * into t from task where id = t.id and stage = 1; -- the end of one may have changed the next
			continue when not found;
			t.stage := 2;
			update task set stage = 2 where id = t.id;
			update grp set living = living - 1 where id = g.id;
			perform ask(t, g.aborting, now);
			aborted := aborted + 1;
		end loop;
	end if;
	select * into g from grp where id = g.id;
	if g.state = 'open' and n > aborted then
		list := waiting_members(g.id, g.freed_to, n - aborted);
		if list = '{}' and g.waiting > 0 then -- others had locked some that it passed over
			list := waiting_members(g.id, null, n - aborted);
		end if;
		with moved as (
			update task o set
				state = case when o.due_at > now then 'scheduled' else 'ready' end, reason = '', version = o.version + 1, updated_at = now,
				ready_at = case when o.due_at > now then o.ready_at else now end,
				flag = lane_flag(o.ord, o.suspect), turn = case when o.ord = '' then o.due_at else 0 end
			where o.id = any (list)
			returning o.id, o.queue
		)
		select count(*), (select count(note_work(queue)) from (select distinct queue from moved) q) into freed, noted from moved;
		perform note_tasks(list);
		update grp set waiting = waiting - freed, freed_to = list[cardinality(list)] where id = g.id;
	end if;
	if g.expiring and n > aborted + freed then
		select coalesce(array_agg(w.id), '{}') into list from (
			select id from ended where grp = g.id and stage = 3 order by id limit n - aborted - freed for update skip locked
		) w;
		marked := cardinality(list);
		update ended set stage = 4, expire_at = case
			when expire_at is null and state <> 'failed' and not follows and retention > 0
			then ended_at + greatest(retention, current_setting('outlast.horizon')::bigint) else expire_at end
		where id = any (list);
		perform may_expire(id) from ended where id = any (list) and expire_at is null and (follows or retention = 0);
		update grp set ended = ended - marked where id = g.id;
	end if;
end $$;

-- is_ripe tells whether Promote has something to do.
create or replace function is_ripe(now bigint) returns boolean language plpgsql volatile as $$
begin
	return exists (select 1 from task where state in ('scheduled', 'parked') and due_at is not null and due_at <= now)
		or exists (select 1 from task where start_by_at is not null and start_by_at <= now)
		or exists (select 1 from grp where ripe is not null);
end $$;

-- promote does a chunk of what time has made ripe. request: limit.
create or replace function promote(req jsonb) returns jsonb language plpgsql as $$
declare
	now constant bigint := begin_step(req);
	n bigint := (req->>'limit')::bigint;
	expired bigint;
	due bigint;
	freed bigint := 0;
	aborted bigint := 0;
	marked bigint := 0;
	g grp;
	r record;
	at bigint;
	stuck uuid[] := '{}';
begin
	expired := expire_starts(n, now);
	n := n - expired;
	due := promote_due(n, now);
	n := n - due;
	while n > 0 loop
		select * into g from grp where ripe is not null and id <> all (stuck) order by ripe limit 1 for update skip locked;
		exit when not found;
		select * into r from tend_group(g, n, now);
		freed := freed + r.freed; aborted := aborted + r.aborted; marked := marked + r.marked;
		n := n - r.freed - r.aborted - r.marked;
		update grp set ripe = null
		where id = g.id and not (state = 'open' and waiting > 0 or aborting <> '' and living > 0 or expiring and ended > 0);
		if not found then
			stuck := stuck || g.id; -- the chunk is done, or others have locked what is left of it
		end if;
	end loop;
	at := first_due();
	return jsonb_build_object('due', due, 'freed', freed, 'expired', expired, 'aborted', aborted, 'marked', marked,
		'more', is_ripe(now), 'next', case when at is null then 0 else greatest(at - now, 1) end, 'hints', hints());
end $$;

-- prune removes up to so many terminal tasks and groups that have expired, and statistics that are too old. request: limit, stats (for how
-- long those are kept).
create or replace function prune(req jsonb) returns jsonb language plpgsql as $$
declare
	now constant bigint := begin_step(req);
	n bigint := (req->>'limit')::bigint;
	removed bigint := 0;
	plain uuid[];
	t task;
	before bigint;
begin
	loop
		before := removed;
		select coalesce(array_agg(x.id), '{}') into plain from (
			select * from ended where expire_at <= now order by expire_at, id limit n - removed for update skip locked
		) x where x.ukey = '' and x.grp is null and x.parent is null and not x.keeps and not x.entries and not x.inbox and x.ord = '';
		delete from body where id = any (plain);
		delete from ended where id = any (plain);
		removed := removed + cardinality(plain);
		for t in select * from ended where expire_at <= now order by expire_at, id limit n - removed for update skip locked loop
			select * into t from ended where id = t.id;
			continue when not found;
			perform remove_task(t, now);
			removed := removed + 1;
		end loop;
		exit when removed = before or removed >= n; -- the end of one may have been what another waited for
	end loop;
	select coalesce(array_agg(x.id), '{}') into plain from (
		select id from grp where gone_at <= now and members = 0 order by gone_at, id limit n - removed for update skip locked
	) x;
	delete from grp where id = any (plain);
	removed := removed + cardinality(plain);
	if removed < n then
		delete from stat where ctid in (
			select ctid from stat where at < now - (req->>'stats')::bigint order by at limit n - removed for update skip locked);
		get diagnostics before = row_count;
		removed := removed + before;
	end if;
	return jsonb_build_object('removed', removed, 'hints', hints());
end $$;
