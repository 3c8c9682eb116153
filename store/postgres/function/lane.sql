-- Lanes are not stored: they are the steps of the index of ready tasks, and the first of each is its head. So no row is hot, and
-- tasks that wait behind a head cost nothing.

-- line_head returns the first task of an ordered lane that has not ended, or failed and blocks it.
create or replace function line_head(q text, k text, l text, m text) returns uuid language sql stable as $$
	select id from (
		(select id from task where queue = q and kind = k and lane = l and lim = m and ord <> '' order by id limit 1)
		union all
		(select id from ended where queue = q and kind = k and lane = l and lim = m and ord = 'block' and state = 'failed' order by id limit 1)
	) heads order by id limit 1
$$;

-- line_runs tells whether a task of an ordered lane runs.
create or replace function line_runs(q text, k text, l text, m text) returns boolean language sql stable as $$
	select exists (select 1 from task where state = 'running' and queue = q and kind = k and lane = l and lim = m and ord <> '')
$$;

-- is_paused tells whether a pause keeps claims from a lane.
create or replace function is_paused(q text, k text, l text, now bigint) returns boolean language sql stable as $$
	select exists (select 1 from pause p
		where (p.queue = '' or p.queue = q) and (p.kind = '' or p.kind = k) and (p.lane = '' or p.lane = l) and (p.until is null or p.until > now))
$$;

-- rates_open tells until when the rates of a limit are closed; 0: they are open. A time that the clock does not allow is clamped.
create or replace function rates_open(l lim, now bigint) returns bigint language sql immutable as $$
	select coalesce(max(least(a, now + b) + s - b) filter (where least(a, now + b) + s - b > now), 0)
	from unnest(l.tats, l.steps, l.bursts) as r (a, s, b)
$$;

-- weight_of is how many tasks a lane gives in a turn.
create or replace function weight_of(q text, l text) returns bigint language sql stable as $$
	select coalesce((select w.weight from weight w where w.queue = q and w.lane = l), 1)
$$;

-- lanes_of lists the lanes of a queue and some kinds that have ready tasks, by name; all kinds if none is named. blocked says
-- why no claim takes from one: order, paused, limit. full says that its limit has no slot, opens when its rates open.
create or replace function lanes_of(q text, kinds text[], now bigint, after text default '', most bigint default null)
returns table (
	kind text, lane text, lim text, flag smallint, name text, head uuid, priority bigint, rank bigint, turn bigint, ready_at bigint, charged boolean,
	blocked text, is_full boolean, opens bigint
) language plpgsql stable rows 20 as $$
#variable_conflict use_column
declare
	paused constant boolean := exists (select 1 from pause);
begin
	return query
	with recursive step as (
		(select k.kind, n.lane, n.lim, n.flag, n.id, n.priority, n.rank, n.turn, n.ready_at, n.charged
		from (select distinct x as kind from unnest(coalesce(kinds, kinds_of(q))) x) k, lateral (
			select t.lane, t.lim, t.flag, t.id, t.priority, t.rank, t.turn, t.ready_at, t.charged from task t
			where t.state = 'ready' and t.queue = q and t.kind = k.kind
			order by t.lane, t.lim, t.flag, t.rank, t.turn, t.id limit 1
		) n)
		union all
		select s.kind, n.lane, n.lim, n.flag, n.id, n.priority, n.rank, n.turn, n.ready_at, n.charged
		from step s, lateral (
			select t.lane, t.lim, t.flag, t.id, t.priority, t.rank, t.turn, t.ready_at, t.charged from task t
			where t.state = 'ready' and t.queue = q and t.kind = s.kind and (t.lane, t.lim, t.flag) > (s.lane, s.lim, s.flag)
			order by t.lane, t.lim, t.flag, t.rank, t.turn, t.id limit 1
		) n
	), first as (
		select n.* from (
			select s.*, (s.kind || chr(1) || s.lane || chr(1) || s.lim || chr(1) || s.flag) collate "C" as name from step s
		) n where n.name > after order by n.name limit most
	)
	select f.kind, f.lane, f.lim, f.flag, f.name, f.id, f.priority, f.rank, f.turn, f.ready_at, f.charged,
		case
		when f.flag in (1, 2) and (f.id <> line_head(q, f.kind, f.lane, f.lim) or line_runs(q, f.kind, f.lane, f.lim)) then 'order'
		when paused and is_paused(q, f.kind, f.lane, now) then 'paused'
		when l.is_full or not f.charged and l.opens > 0 then 'limit'
		else '' end,
		coalesce(l.is_full, false), coalesce(l.opens, 0)
	from first f left join lateral (
		select m.most > 0 and m.running >= m.most as is_full, rates_open(m, now) as opens
		from lim m where f.lim <> '' and m.key = f.lim and m.is_set
	) l on true
	order by f.name;
end $$;

-- kinds_of lists the kinds of a queue that have ready tasks.
create or replace function kinds_of(q text) returns text[] language sql stable as $$
	with recursive k as (
		(select kind from task where state = 'ready' and queue = q order by kind limit 1)
		union all
		select n.kind from k, lateral (select kind from task t where state = 'ready' and queue = q and t.kind > k.kind order by kind limit 1) n
	) select coalesce(array_agg(kind), '{}') from k
$$;

-- take_slot gives a task of a limit its slot and charges the rates, once per start. It returns whether it charged them.
create or replace function take_slot(name text, was_charged boolean, now bigint) returns boolean language plpgsql as $$
declare
	l lim;
begin
	now := clock(); -- the limit is locked: its rates were charged before now, and not after
	insert into lim as o (key, running) values (name, 1)
	on conflict (key) do update set running = o.running + 1
	returning * into l;
	if was_charged or not l.is_set then
		return was_charged;
	end if;
	update lim set tats = (
		select coalesce(array_agg(greatest(least(a, now + b), now) + s order by i), '{}')
		from unnest(l.tats, l.steps, l.bursts) with ordinality as r (a, s, b, i)
	) where key = name;
	return cardinality(l.steps) > 0;
end $$;

-- room is how many may start now under a limit; 1 at least.
create or replace function room(l lim, now bigint) returns bigint language sql immutable as $$
	select greatest(1, least(
		case when l.most > 0 then l.most - l.running else 9223372036854775807 end,
		(select min((b - (greatest(least(a, now + b), now) - now)) / greatest(s, 1)) from unnest(l.tats, l.steps, l.bursts) as r (a, s, b))))
$$;

-- take_slots gives some tasks of a limit their slots and charges the rates for those that are fresh. It returns the limit as it is then.
create or replace function take_slots(name text, many bigint, fresh bigint, now bigint) returns lim language plpgsql as $$
declare
	l lim;
begin
	now := clock(); -- as in take_slot
	insert into lim as o (key, running) values (name, many)
	on conflict (key) do update set
		running = o.running + many,
		tats = case when fresh = 0 or not o.is_set then o.tats else (
			select coalesce(array_agg(greatest(least(a, now + b), now) + s * fresh order by i), '{}')
			from unnest(o.tats, o.steps, o.bursts) with ordinality as r (a, s, b, i)
		) end
	returning * into l;
	return l;
end $$;
