-- submit_many stores tasks without unique keys, all in a few statements. It returns new [id, state], old [id, state, fingerprint] and bad
-- [id, error, detail].
create or replace function submit_many(specs jsonb, now bigint) returns jsonb language plpgsql as $$
declare
	groups constant uuid[] := (select array_agg(distinct (e->>'grp')::uuid) from jsonb_array_elements(specs) e);
	takes uuid[]; -- groups that take members
	res jsonb;
	ids uuid[];
begin
	-- Only a group that is locked here takes members: one that comes to be a moment later may have closed before they are counted.
	select coalesce(array_agg(l.id) filter (where l.aborting = '' and l.state in ('filling', 'held')), '{}') into takes from (
		select id, aborting, state from grp where id = any (groups) order by id for update
	) l;
	res := store_many(specs, takes, now);
	if res->>'sooner' is not null then
		perform note_sooner(res->>'sooner', res->'new', now);
	end if;
	if (res->>'stored')::bigint < jsonb_array_length(specs) then
		ids := (select array_agg(distinct (e->>'id')::uuid) from jsonb_array_elements(specs) e);
		res := res || jsonb_build_object(
			'old', (select jsonb_agg(jsonb_build_array(o.id, o.state, o.fingerprint)) from standing o where o.id = any (ids)),
			'bad', (select jsonb_agg(jsonb_build_array(e->>'id', coalesce((select g.state from grp g where g.id = (e->>'grp')::uuid), 'notfound')))
				from jsonb_array_elements(specs) e where e->>'grp' is not null and (e->>'grp')::uuid <> all (takes)));
	end if;
	return res;
end $$;

-- store_many does so for those whose group, if they have one, is among the given. It looks into no table, so joins may be made by hashing:
-- a gathered call may bring thousands. It returns new [id, state], how many they are, and the queue of the one that is due first.
create or replace function store_many(specs jsonb, takes uuid[], now bigint) returns jsonb language plpgsql set enable_hashjoin to on as $$
declare
	res jsonb;
	noted bigint;
begin
	with s as materialized (
		select distinct on (x.id) x.*,
			greatest(now, x.due, now + coalesce(x.delay, 0)) as due_at,
			case when x.grp is not null then 'held' when greatest(x.due, now + coalesce(x.delay, 0)) > now then 'scheduled' else 'ready' end as at
		from rows from (jsonb_to_recordset(specs) as (
			id uuid, kind text, queue text, lane text, lim text, ord text, prio bigint, due bigint, delay bigint, startby bigint, timeout bigint,
			rmax bigint, rbase bigint, rfactor float8, rcap bigint, spends boolean, grp uuid, line bigint, parent uuid, owned boolean,
			print text, retention bigint, on_end jsonb, labels jsonb, args text, rest text
		)) with ordinality x (
			id, kind, queue, lane, lim, ord, prio, due, delay, startby, timeout, rmax, rbase, rfactor, rcap, spends, grp, line, parent, owned,
			print, retention, on_end, labels, args, rest, place)
		order by x.id, x.place
	), b as (
		insert into body (id, rest, args, labels, on_end, retry_max, retry_base, retry_factor, retry_cap, crash_spends)
		select id, bytes(rest), bytes(args), nullif(labels, 'null'), nullif(on_end, 'null'), coalesce(rmax, 0), coalesce(rbase, 0),
			coalesce(rfactor, 0), coalesce(rcap, 0), coalesce(spends, false)
		from s where grp is null or grp = any (takes)
		order by id
		on conflict do nothing
		returning id
	), t as (
		insert into task (id, state, reason, created_at, updated_at, due_at, ready_at, start_by_at, kind, queue, lane, lim, flag, ord, priority, rank, turn,
			timeout, owned, grp, stage, line, parent, ukey, ufor, fingerprint, retention, follows)
		select id, at, case when grp is null then '' else 'group' end, now, now, due_at, case when at = 'ready' then now end, now + startby,
			kind, queue, coalesce(lane, ''), coalesce(lim, ''), lane_flag(coalesce(ord, ''), false), coalesce(ord, ''), coalesce(prio, 0),
			case when coalesce(ord, '') = '' then -coalesce(prio, 0) else 0 end, case when coalesce(ord, '') = '' then due_at else 0 end,
			coalesce(timeout, 0), coalesce(owned, false), grp, (grp is not null)::int, coalesce(line, 0), parent, '', 0,
			coalesce(print, ''), coalesce(retention, 0), on_end is not null and on_end <> 'null'
		from s join b using (id)
		returning id, state, queue, kind, grp, due_at
	), counted as (
		insert into stat as m (at, queue, kind, shard, submitted)
		select now - now % 60000000000, queue, kind, shard(current_schema()), count(*) from t group by queue, kind order by queue, kind
		on conflict (at, queue, kind, shard) do update set submitted = m.submitted + excluded.submitted
	), grown as (
		update grp g set total = total + n, members = members + n, living = living + n, waiting = waiting + n, version = version + n, updated_at = now
		from (select grp, count(*) as n from t where grp is not null group by grp) d
		where g.id = d.grp
	)
	select jsonb_build_object('new', (select jsonb_agg(jsonb_build_array(id, state)) from t), 'stored', (select count(*) from t),
			'sooner', (select queue from t where state = 'scheduled' order by due_at limit 1)),
		(select count(note_work(queue)) from (select distinct queue from t where state = 'ready') q)
			+ (select count(note_task(id)) from t where current_setting('outlast.watched') = 'true')
	into res, noted;
	return res;
end $$;

-- note_sooner tells of a queue whose new task may be due sooner than every other.
create or replace function note_sooner(queue text, fresh jsonb, now bigint) returns void language plpgsql as $$
declare
	first uuid;
begin
	select id into first from task where state in ('scheduled', 'parked') and due_at is not null order by due_at, id limit 1;
	if exists (select 1 from jsonb_array_elements(fresh) e where e->>0 = first::text) then
		perform note_work(queue);
	end if;
end $$;
