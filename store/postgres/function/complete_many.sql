-- complete ends runs. request: items in order (see complete_one), plain (all of them say quick). Of those that can be done in one statement
-- it does all in one. It returns what became of each; with brief, null if all were done so.
create or replace function complete_all(req jsonb, now bigint) returns jsonb language plpgsql as $$
declare
	item jsonb;
	plain uuid[];
	res jsonb[] := '{}';
	n constant int := jsonb_array_length(req->'items');
begin
	if n > 1 and not req ? 'plain' then
		perform 1 from task where id = any (array(select (e->>'id')::uuid from jsonb_array_elements(req->'items') e)) order by id for update; -- as others lock them
	end if;
	perform note_slots();
	if req ? 'quick' then
		plain := complete_items(req->'items', now);
		if req ? 'brief' and cardinality(plain) = n then
			perform give_noted();
			return null;
		end if;
	end if;
	for item in select * from jsonb_array_elements(req->'items') loop
		if (item->>'id')::uuid = any (plain) then
			res := array_append(res, '["done", false]');
		else
			res := array_append(res, complete_one(item, now));
		end if;
	end loop;
	perform give_noted();
	return to_jsonb(res);
end $$;

-- complete_items is complete_plain of the items that say quick.
create or replace function complete_items(items jsonb, now bigint) returns uuid[] language plpgsql as $$
declare
	all_ids constant uuid[] := array(select (e->>'id')::uuid from jsonb_array_elements(items) e);
	parents uuid[] := '{}';
	ids uuid[];
	epochs bigint[];
	nonces uuid[];
	results bytea[];
	reasons text[];
	wrotes jsonb[];
	stands jsonb[];
begin
	if cardinality(all_ids) > 1 then
		parents := array(select t.parent from task t where t.id = any (all_ids) and t.parent = any (all_ids));
	end if;
	select array_agg(x.id order by x.id), array_agg(x.epoch order by x.id), array_agg(x.nonce order by x.id), array_agg(bytes(x.out->>'result') order by x.id),
		array_agg(x.out->>'reason' order by x.id), array_agg(x.out->'entries' order by x.id), array_agg(x.out->'progress' order by x.id)
	into ids, epochs, nonces, results, reasons, wrotes, stands
	from jsonb_to_recordset(items) as x (id uuid, epoch bigint, nonce uuid, quick boolean, "out" jsonb) where x.quick;
	return complete_plain(ids, epochs, nonces, results, reasons, wrotes, stands, parents, now);
end $$;

-- complete_plain ends runs that are done and bring nothing but a result, entries and progress, of tasks on which nothing else hangs but a
-- group, a limit, a task that follows and a parent that has ended. They come as arrays in the order of ids, each id once, and are locked in that
-- order; parents are those that one of them wakes: these must end in their turn. A group is written once for all of its members, after them, in the
-- same order; slots are noted. It returns those it ended; the others take the long road, which is end_task.
create or replace function complete_plain(
	ids uuid[], epochs bigint[], nonces uuid[], results bytea[], reasons text[], wrotes jsonb[], stands jsonb[], parents uuid[], now bigint
) returns uuid[] language plpgsql as $$
declare
	horizon constant bigint := current_setting('outlast.horizon')::bigint;
	runs constant text := 'running'; -- no constant where it is used: rows are found by their ids, never through an index of all that run
	took uuid[];
	sums jsonb;
	slots text;
	next jsonb; -- what follows them
	heirs uuid[]; -- those that have a parent
	elders uuid[]; -- and that
begin
	with gone as (
		delete from task t using unnest(ids, epochs, nonces, results, reasons, wrotes, stands) as i (id, epoch, nonce, result, reason, wrote, stand)
		where t.id = i.id and t.id <> all (parents) and t.state = runs and t.epoch = i.epoch and t.nonce = i.nonce and t.staged is null
			and t.ukey = '' and t.ord = '' and not t.keeps and not t.failing and not t.inbox and not ((t.entries or i.wrote is not null) and t.retention = 0)
			and (t.parent is null or not exists (select 1 from task p where p.id = t.parent))
			and (not t.follows or exists (select 1 from body b where b.id = t.id and coalesce(b.on_end->>'ukey', '') = ''))
		returning t.*, i.reason as why, i.result as outcome, i.wrote, i.stand
	), moved as (
		insert into ended (
			id, state, reason, version, round, wakes, suspect, solo, saves, asked, told, stripped, epoch,
			settled_epoch, settled_nonce, settled_kind, attempts, crashes, crash_run, charged, created_at, due_at, ready_at, started_at,
			ended_at, updated_at, expire_at, progress_done, progress_total, progress_note, progress_at, result, history,
			kind, queue, lane, lim, flag, ord, priority, rank, turn, timeout, owned, grp, stage, line, parent, ukey, ufor, fingerprint, retention, follows, entries)
		select id, 'done', coalesce(why, ''), version + 1, round, wakes, suspect, solo, saves, asked, told, retention = 0 and grp is null and not follows, epoch,
			epoch, nonce, 'done', attempts, crashes, crash_run, charged, created_at, due_at, ready_at, started_at,
			now, now, case when retention >= 0 and grp is null and not follows then now + greatest(retention, horizon) end,
			case when stand is null then progress_done else (stand->>0)::bigint end, case when stand is null then progress_total else (stand->>1)::bigint end,
			case when stand is null then progress_note else bytes(stand->>2) end, case when stand is null then progress_at else now end,
			case when retention <> 0 or grp is not null or follows then outcome end,
			case when retention <> 0 or grp is not null or follows then add_event(history, now, 'ended', epoch, worker, coalesce(why, '')) else '[]' end,
			kind, queue, lane, lim, flag, ord, priority, rank, turn, timeout, owned, grp, case when grp is null then 0 else 3 end, line, parent, ukey, ufor, fingerprint, retention, follows,
			entries or exists (select 1 from jsonb_array_elements(wrote) e where e->>1 is not null)
		from gone
		returning id
	), kept as (
		insert into entry (task, name, value)
		select o.id, bytes(e->>0), bytes(e->>1) from gone o, jsonb_array_elements(o.wrote) e where e->>1 is not null
		on conflict (task, name) do update set value = excluded.value
	), dropped as (
		delete from entry x using gone o, jsonb_array_elements(o.wrote) e where e->>1 is null and x.task = o.id and x.name = bytes(e->>0)
	), stripped as (
		update body b set args = null from gone where b.id = gone.id and gone.retention = 0 and gone.grp is null and not gone.follows and b.args is not null
	), counted as (
		insert into stat as m (at, queue, kind, shard, done, ran)
		select now - now % 60000000000, queue, kind, shard(current_schema()), count(*), sum(greatest(now - started_at, 0))
		from gone group by queue, kind order by queue, kind
		on conflict (at, queue, kind, shard) do update set done = m.done + excluded.done, ran = m.ran + excluded.ran
	)
	select array_agg(m.id),
		(select jsonb_agg(jsonb_build_object('id', x.grp, 'n', x.n, 'living', x.living) order by x.grp)
			from (select grp, count(*) n, count(*) filter (where stage = 1) living from gone where grp is not null group by grp) x),
		(select string_agg(lim || chr(1), '') from gone where lim <> ''),
		(select jsonb_agg(b.on_end || jsonb_build_object('id', on_end_id(g.id, g.round), 'parent', g.id, 'grp', null)) from gone g join body b on b.id = g.id where g.follows),
		(select array_agg(g.id order by g.id) from gone g where g.parent is not null), (select array_agg(g.parent order by g.id) from gone g where g.parent is not null)
	into took, sums, slots, next, heirs, elders from moved m;
	perform note_tasks(took);
	if slots is not null then
		perform set_config('outlast.slots', concat(current_setting('outlast.slots', true), slots), true);
	end if;
	if next is not null then
		perform follow(next, now);
	end if;
	if sums is not null then
		perform count_done(sums);
	end if;
	if heirs is not null then
		perform release_elders(heirs, elders);
	end if;
	return coalesce(took, '{}');
end $$;

-- follow stores what follows tasks that have just ended, as end_task does. None of it has a unique key or a group.
create or replace function follow(specs jsonb, now bigint) returns void language plpgsql as $$
declare
	res constant jsonb := store_many(specs, '{}', now);
begin
	if res->>'sooner' is not null then
		perform note_sooner(res->>'sooner', res->'new', now);
	end if;
	if (res->>'stored')::bigint < jsonb_array_length(specs) then -- an id was known: it may have run
		perform may_expire((e->>'parent')::uuid) from jsonb_array_elements(specs) e order by e->>'parent';
	end if;
end $$;

-- release_elders lets those expire whose followers are done, as released does. Neither has a group that waits for the other.
create or replace function release_elders(heirs uuid[], elders uuid[]) returns void language plpgsql as $$
declare
	horizon constant bigint := current_setting('outlast.horizon')::bigint;
begin
	update ended p set expire_at = p.ended_at + greatest(p.retention, horizon)
	from unnest(heirs, elders) x (heir, elder)
	where p.id = x.elder and p.follows and p.retention > 0 and p.expire_at is null and p.state <> 'failed' and (p.grp is null or p.stage = 4)
		and on_end_id(p.id, p.round) = x.heir;
	perform may_expire(p.id) from unnest(heirs, elders) x (heir, elder) join ended p on p.id = x.elder
	where p.follows and p.retention = 0 and on_end_id(p.id, p.round) = x.heir; -- they are stripped, too
end $$;

-- count_done counts members of groups that are done. sums: of each group its id, n of them, living: how many of those lived. Each group is
-- locked after its members, in the order of ids.
create or replace function count_done(sums jsonb) returns void language plpgsql as $$
declare
	s record;
	g grp;
	after bigint;
begin
	for s in select * from jsonb_to_recordset(sums) as x (id uuid, n bigint, living bigint) order by x.id loop
		perform 1 from grp where id = s.id for update;
		after := clock(); -- whoever had it locked has written it later than this step began
		update grp set done = done + s.n, living = living - s.living, ended = ended + s.n, version = version + s.n, updated_at = after
		where id = s.id
		returning * into g;
		if found and (g.state = 'open' and g.total - g.done - g.failed - g.cancelled <= 0 or g.ripe is null and has_ripe(g)) then
			perform settle_group(g, after);
		end if;
	end loop;
end $$;

-- complete is complete_all as a call.
create or replace function complete(req jsonb) returns jsonb language plpgsql as $$
declare
	now constant bigint := begin_step(req);
	res jsonb;
begin
	res := complete_all(req, now);
	return jsonb_build_object('items', res, 'hints', hints());
end $$;

-- submit_rows submits, and makes the tasks run at once as far as pauses, limits and order allow. request: as submit, and claim.
create or replace function submit_rows(req jsonb) returns setof claimed language plpgsql as $$
declare
	of jsonb;
	lives boolean;
	res jsonb;
	ids uuid[] := '{}';
	charge uuid[] := '{}';
	o task;
	now bigint;
	lone boolean;
	head claimed;
begin
	perform begin_step(req);
	lives := guard(req->'claim'->>'worker', false);
	res := submit(req);
	now := clock();
	if not lives then
		head.meta := res || jsonb_build_object('claim_err', 'dead');
		return next head;
		return;
	end if;
	if (req->'claim'->>'repeat')::boolean then
		select coalesce(array_agg(x.id order by x.id), '{}') into ids
		from task x where x.state = 'running' and x.worker = req->'claim'->>'worker' and x.nonce = (req->'claim'->>'nonce')::uuid;
	else
		for of in select * from jsonb_array_elements(req->'specs') loop
			select * into o from task x where x.id = (of->>'id')::uuid and x.id <> all (ids) for update;
			continue when not found or o.state <> 'ready' or o.suspect;
			continue when is_blocked(o, now) or is_broken(o);
			ids := ids || o.id;
			if o.lim <> '' and take_slot(o.lim, o.charged, now) then
				charge := charge || o.id;
			end if;
			-- At once, so that the next of an ordered lane sees that this one runs.
			lone := start_runs(array[o.id], charge, req->'claim'->>'worker', (req->'claim'->>'nonce')::uuid, now) or coalesce(lone, false);
		end loop;
	end if;
	head.meta := res || jsonb_build_object('lone', lone, 'hints', hints());
	return next head;
	if cardinality(ids) = 0 then
		return;
	end if;
	return query select null::jsonb, live.*, b.rest, b.args, b.labels, b.on_end, b.error
	from unnest(ids) with ordinality i (id, place) join task live on live.id = i.id join body b on b.id = i.id order by i.place;
end $$;
