-- Lanes are not stored: they are the steps of the index of ready tasks, and the first of each is its head. So no row is hot, and
-- tasks that wait behind a head cost nothing.

-- line_head returns the first task of an ordered lane that has not ended, or failed and blocks it.
create or replace function line_head(q text, k text, l text, m text) returns uuid language plpgsql stable as $$
begin
	return (
		select id from (
			(select id from task where queue = q and kind = k and lane = l and lim = m and ord <> '' order by id limit 1)
			union all
			(select id from ended where queue = q and kind = k and lane = l and lim = m and ord = 'block' and state = 'failed' order by id limit 1)
		) heads order by id limit 1
	);
end $$;

-- line_runs tells whether a task of an ordered lane runs.
create or replace function line_runs(q text, k text, l text, m text) returns boolean language plpgsql stable as $$
begin
	return exists (select 1 from task where state = 'running' and queue = q and kind = k and lane = l and lim = m and ord <> '');
end $$;

-- is_paused tells whether a pause keeps claims from a lane.
create or replace function is_paused(q text, k text, l text, now bigint) returns boolean language plpgsql stable as $$
begin
	return exists (
		select 1 from pause p
		where (p.queue = '' or p.queue = q) and (p.kind = '' or p.kind = k) and (p.lane = '' or p.lane = l) and (p.until is null or p.until > now));
end $$;

-- rates_open tells until when the rates of a limit are closed; 0: they are open. A time that the clock does not allow is clamped.
create or replace function rates_open(l lim, now bigint) returns bigint language plpgsql immutable as $$
begin
	return (
		select coalesce(max(least(a, now + b) + s - b) filter (where least(a, now + b) + s - b > now), 0)
		from unnest(l.tats, l.steps, l.bursts) as r (a, s, b)
	);
end $$;

-- weight_of is how many tasks a lane gives in a turn.
create or replace function weight_of(q text, l text) returns bigint language plpgsql stable as $$
begin
	return coalesce((select w.weight from weight w where w.queue = q and w.lane = l), 1);
end $$;

-- lane_state tells of a lane by its first task why no claim takes from it (order, paused, limit; empty: one may), whether its limit has no
-- slot, and when its rates open (0: they are open).
create or replace function lane_state(q text, k text, l text, m text, f smallint, head uuid, paid boolean, paused boolean, now bigint)
returns table (blocked text, is_full boolean, opens bigint) language sql stable rows 1 as $$
	select
		case
		when f in (1, 2) and (head <> line_head(q, k, l, m) or line_runs(q, k, l, m)) then 'order'
		when paused and is_paused(q, k, l, now) then 'paused'
		when o.is_full or not paid and o.opens > 0 then 'limit'
		else '' end,
		coalesce(o.is_full, false), coalesce(o.opens, 0)
	from (select 1) as one left join lateral (
		select x.most > 0 and x.running >= x.most as is_full, rates_open(x, now) as opens from lim x where m <> '' and x.key = m and x.is_set
	) o on true
$$;

-- lane_place takes the name of a lane apart. No name has a place before all.
create or replace function lane_place(name text, out kind text, out lane text, out lim text, out flag smallint) language plpgsql immutable as $$
begin
	kind := split_part(name, chr(1), 1); lane := split_part(name, chr(1), 2); lim := split_part(name, chr(1), 3);
	flag := case when split_part(name, chr(1), 4) ~ '^[0-3]$' then split_part(name, chr(1), 4)::smallint else -1 end;
end $$;

-- lanes_after lists so many lanes of a queue and some kinds that have ready tasks, by name, after a place. The kinds are sorted. It costs
-- what it lists. Each comes with its first task, and what lane_state tells.
create or replace function lanes_after(q text, kinds text[], a_kind text, a_lane text, a_lim text, a_flag smallint, most bigint, now bigint)
returns table (
	kind text, lane text, lim text, flag smallint, name text, head uuid, priority bigint, rank bigint, turn bigint, ready_at bigint, charged boolean,
	blocked text, is_full boolean, opens bigint
) language plpgsql stable rows 20 as $$
declare
	paused constant boolean := exists (select 1 from pause);
	x_kind text; x_lane text := a_lane; x_lim text := a_lim; x_flag smallint := a_flag;
begin
	foreach x_kind in array kinds loop
		continue when x_kind collate "C" < a_kind;
		if x_kind <> a_kind then
			x_lane := ''; x_lim := ''; x_flag := -1;
		end if;
		loop
			if most <= 0 then
				return;
			end if;
			select t.lane, t.lim, t.flag, t.id, t.priority, t.rank, t.turn, t.ready_at, t.charged
			into lane, lim, flag, head, priority, rank, turn, ready_at, charged
			from task t
			where t.state = 'ready' and t.queue = q and t.kind = x_kind and (t.lane, t.lim, t.flag) > (x_lane, x_lim, x_flag)
			order by t.lane, t.lim, t.flag, t.rank, t.turn, t.id limit 1;
			exit when not found;
			kind := x_kind; name := x_kind || chr(1) || lane || chr(1) || lim || chr(1) || flag;
			if flag in (0, 3) and lim = '' and not paused then
				blocked := ''; is_full := false; opens := 0;
			else
				select o.blocked, o.is_full, o.opens into blocked, is_full, opens from lane_state(q, kind, lane, lim, flag, head, charged, paused, now) o;
			end if;
			return next;
			x_lane := lane; x_lim := lim; x_flag := flag; most := most - 1;
		end loop;
	end loop;
end $$;

-- lanes_round lists so many lanes in the order of turns: those after a place, then, from the first on, those up to the cursor, which itself
-- comes last, or first if its turn goes on. wrapped: the place is in the second part.
create or replace function lanes_round(
	q text, kinds text[], a_kind text, a_lane text, a_lim text, a_flag smallint, wrapped boolean, cursor text, goes_on boolean, most bigint, now bigint
) returns table (
	kind text, lane text, lim text, flag smallint, name text, head uuid, priority bigint, rank bigint, turn bigint, ready_at bigint, charged boolean,
	blocked text, is_full boolean, opens bigint, over boolean
) language plpgsql stable rows 20 as $$
#variable_conflict use_column
declare
	n bigint;
begin
	if not wrapped then
		return query select o.*, false from lanes_after(q, kinds, a_kind, a_lane, a_lim, a_flag, most, now) o;
		get diagnostics n = row_count;
		most := most - n;
		a_kind := ''; a_lane := ''; a_lim := ''; a_flag := -1;
	end if;
	if cursor <> '' and most > 0 then
		return query select o.*, true from lanes_after(q, kinds, a_kind, a_lane, a_lim, a_flag, most, now) o where o.name collate "C" < cursor or not goes_on and o.name = cursor;
	end if;
end $$;

-- suspect_lanes lists the lanes of a queue and some kinds in which suspects wait, by name. The kinds are sorted.
create or replace function suspect_lanes(q text, kinds text[])
returns table (kind text, lane text, lim text, flag smallint, head uuid, charged boolean) language plpgsql stable rows 5 as $$
#variable_conflict use_column
declare
	x_kind text;
begin
	foreach x_kind in array kinds loop
		return query
		with recursive step as (
			(select t.lane, t.lim, t.flag, t.id, t.charged from task t
			where t.state = 'ready' and t.flag >= 2 and t.queue = q and t.kind = x_kind
			order by t.lane, t.lim, t.flag, t.rank, t.turn, t.id limit 1)
			union all
			select n.* from step s, lateral (
				select t.lane, t.lim, t.flag, t.id, t.charged from task t
				where t.state = 'ready' and t.flag >= 2 and t.queue = q and t.kind = x_kind and (t.lane, t.lim, t.flag) > (s.lane, s.lim, s.flag)
				order by t.lane, t.lim, t.flag, t.rank, t.turn, t.id limit 1
			) n
		)
		select x_kind, f.* from step f;
	end loop;
end $$;

-- has_work tells whether a claim would find a task that is no suspect. It looks until it has found one.
create or replace function has_work(q text, kinds text[], now bigint) returns boolean language plpgsql stable as $$
declare
	size bigint := 8;
	r record;
	place record;
	n bigint;
begin
	place := lane_place('');
	loop
		n := 0;
		for r in select * from lanes_after(q, kinds, place.kind, place.lane, place.lim, place.flag, size, now) loop
			if r.blocked = '' and r.flag in (0, 1) then
				return true;
			end if;
			n := n + 1;
		end loop;
		if n < size then
			return false;
		end if;
		place := lane_place(r.name);
		size := size * 2;
	end loop;
end $$;

-- has_suspects tells whether a claim would find a suspect.
create or replace function has_suspects(q text, kinds text[], now bigint) returns boolean language plpgsql stable as $$
begin
	return exists (
		select 1 from suspect_lanes(q, kinds) s,
			lateral lane_state(q, s.kind, s.lane, s.lim, s.flag, s.head, s.charged, true, now) o
		where o.blocked = '');
end $$;

-- sorted_kinds are those of a request, each once, in the order of names.
create or replace function sorted_kinds(kinds jsonb) returns text[] language plpgsql immutable as $$
begin
	if jsonb_array_length(kinds) = 1 then
		return array[kinds->>0];
	end if;
	return (select coalesce(array_agg(x.k order by x.k collate "C"), '{}') from (select distinct k from jsonb_array_elements_text(kinds) k) x);
end $$;

-- kinds_of lists the kinds of a queue that have ready tasks.
create or replace function kinds_of(q text) returns text[] language plpgsql stable as $$
begin
	return (
		with recursive k as (
			(select kind from task where state = 'ready' and queue = q order by kind limit 1)
			union all
			select n.kind from k, lateral (select kind from task t where state = 'ready' and queue = q and t.kind > k.kind order by kind limit 1) n
		) select coalesce(array_agg(kind), '{}') from k
	);
end $$;

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
create or replace function room(l lim, now bigint) returns bigint language plpgsql immutable as $$
begin
	return (
		select greatest(1, least(
			case when l.most > 0 then l.most - l.running else 9223372036854775807 end,
			(select min((b - (greatest(least(a, now + b), now) - now)) / greatest(s, 1)) from unnest(l.tats, l.steps, l.bursts) as r (a, s, b))))
	);
end $$;

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
