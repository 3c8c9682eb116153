-- exchange completes, and claims for a worker in the same call: each half succeeds by itself. What it completes comes as runs that are done
-- (see complete_bare), or as items and what complete takes besides, or not at all. request: items, and claim: worker, nonce, repeat, queues
-- (queue, slots, cursor), kinds, suspects, company, aged. It returns a row for each task taken, with its number in the order of taking and what
-- is not the same for all that a claim takes, and then one with meta alone. A claim that says trusting fails with OL001, and nothing is done, if
-- a record cannot be read: asked again without, it ends such a task and takes another.
create or replace function exchange(req jsonb, done uuid[], epochs bigint[], nonces uuid[], results bytea[], turns bigint[]) returns table (
	meta jsonb, nth bigint, id uuid, version bigint, round bigint, wakes bigint, suspect boolean, solo boolean, alone boolean, saves bigint, asked text,
	told boolean, epoch bigint, settled_epoch bigint, settled_nonce uuid, settled_kind text, staged jsonb, attempts bigint, crashes bigint,
	crash_run bigint, charged boolean, created_at bigint, due_at bigint, ready_at bigint, started_at bigint, deadline_at bigint, updated_at bigint,
	progress_done bigint, progress_total bigint, progress_note bytea, progress_at bigint, grp uuid, parent uuid, rest bytea, args bytea,
	labels jsonb, on_end jsonb, error bytea
) language plpgsql as $$
#variable_conflict use_column
declare
	now bigint := begin_step(req);
	of constant jsonb := req->'claim';
	owner constant text := of->>'worker';
	mark constant uuid := (of->>'nonce')::uuid;
	guarded constant boolean := hold(owner, coalesce((of->>'suspects')::int, 0) > 0); -- before all other locks
	items constant jsonb := case
		when done is not null then complete_bare(done, epochs, nonces, results, turns, owner, now)
		when req ? 'items' then complete_all(req, now) end;
	waits constant text := 'ready'; -- no constant where it is used: rows are found by their ids, never through an index of all that wait
	ids uuid[];
	charge uuid[];
	places tid[]; -- they are locked, so they stay there
	sums jsonb; -- how many of which queue and kind, and how long those had waited when the step began
	begun bigint;
	again boolean;
	cursors jsonb;
	limited boolean := true;
	shut text[] := '{}';
	due boolean := false;
	waits_until bigint; -- the first that waits for a time
	paused boolean;
	lives boolean;
	lone boolean;
	wait bigint;
	n bigint;
	first jsonb; -- the history of one that is claimed for the first time
begin
	select exists (select 1 from worker w where w.id = owner and w.dead_at is null), exists (select 1 from pause),
		(select t.due_at from task t where t.state in ('scheduled', 'parked') and t.due_at is not null order by t.due_at limit 1)
	into lives, paused, waits_until;
	if not lives then
		meta := jsonb_build_object('items', items, 'claim_err', 'dead', 'hints', hints());
		return next;
		return;
	end if;
	if (of->>'repeat')::boolean then
		return query
		select null::jsonb, row_number() over (order by t.id), t.id, t.version, t.round, t.wakes, t.suspect, t.solo, t.alone, t.saves, t.asked, t.told, t.epoch,
			t.settled_epoch, t.settled_nonce, t.settled_kind, t.staged, t.attempts, t.crashes, t.crash_run, t.charged, t.created_at, t.due_at, t.ready_at, t.started_at, t.deadline_at,
			t.updated_at, t.progress_done, t.progress_total, t.progress_note, t.progress_at, t.grp, t.parent, b.rest, b.args, b.labels, b.on_end, b.error
		from task t join body b on b.id = t.id where t.state = 'running' and t.worker = owner and t.nonce = mark order by t.id;
		again := true;
	else
		if waits_until <= now then
			due := promote_due(100, now) = 100;
			waits_until := first_due();
		end if;
		if (of->>'suspects')::int > 0 then
			select p.ids, p.charge, p.more, '{}'::jsonb into ids, charge, again, cursors from pick_suspects(of, now) p;
		else
			if of ? 'trusting' and not paused and jsonb_array_length(of->'queues') = 1 then
				select p.ids, p.places, p.sums, p.more, p.cursors, '{}'::uuid[], false into ids, places, sums, again, cursors, charge, limited
				from pick_lone(of->'queues'->0->>'queue', (of->'queues'->0->>'slots')::bigint, coalesce(of->'queues'->0->>'cursor', ''),
					sorted_kinds(of->'kinds'), now) p;
			end if;
			if ids is null then
				select p.ids, p.charge, p.more, p.cursors, p.limited, p.shut, p.places, p.sums
				into ids, charge, again, cursors, limited, shut, places, sums from pick(of, now) p;
			end if;
		end if;
		again := again or due;
		if cardinality(ids) > 0 then
			if places is null then -- some were looked at one by one
				select array_agg(t.ctid order by i.nth) into places from unnest(ids) with ordinality i (id, nth) join task t on t.id = i.id;
				select jsonb_agg(to_jsonb(x)) into sums from (
					select t.queue, t.kind, count(*) as n, sum(now - t.ready_at) as waited from task t where t.id = any (ids) group by t.queue, t.kind
				) x;
			end if;
			begun := now;
			now := clock(); -- what was locked may be younger than this step
			lone := prepare_runs(charge, owner, cardinality(ids), now) and not coalesce((of->>'company')::boolean, false);
			first := add_event('[]', now, 'claimed', 1, owner, '');
			return query
			update task t set
				state = 'running', reason = '', version = t.version + 1, updated_at = now, epoch = t.epoch + 1, nonce = mark, worker = owner,
				started_at = now, told = t.asked <> '', alone = lone, saves = 0, start_by_at = null, deadline_at = case when t.timeout > 0 then now + t.timeout end, charged = t.charged or t.id = any (charge),
				history = case when t.epoch = 0 and t.history = '[]' then first else add_event(t.history, now, 'claimed', t.epoch + 1, owner, '') end
			from unnest(ids, places) with ordinality i (id, place, nth) join body b on b.id = i.id
			where t.ctid = i.place and t.id = i.id and t.state = waits and readable(b.rest)
			returning null::jsonb, i.nth, t.id, t.version, t.round, t.wakes, t.suspect, t.solo, t.alone, t.saves, t.asked, t.told, t.epoch,
				t.settled_epoch, t.settled_nonce, t.settled_kind, t.staged, t.attempts, t.crashes, t.crash_run, t.charged, t.created_at, t.due_at, t.ready_at, t.started_at, t.deadline_at,
				t.updated_at, t.progress_done, t.progress_total, t.progress_note, t.progress_at, t.grp, t.parent, b.rest, b.args, b.labels, b.on_end, b.error;
			get diagnostics n = row_count;
			if n < cardinality(ids) then
				raise exception 'a record cannot be read' using errcode = 'OL001';
			end if;
			insert into stat as m (at, queue, kind, shard, claimed, waited)
			select now - now % 60000000000, c.queue, c.kind, shard(current_schema()), sum(c.n), greatest(sum(c.waited + c.n * (now - begun)), 0)
			from jsonb_to_recordset(sums) as c (queue text, kind text, n bigint, waited bigint) group by c.queue, c.kind order by c.queue, c.kind
			on conflict (at, queue, kind, shard) do update set claimed = m.claimed + excluded.claimed, waited = m.waited + excluded.waited;
			if current_setting('outlast.watched') = 'true' then
				perform note_moving(ids);
			end if;
		end if;
		wait := next_claim(of, now, waits_until, paused, limited, shut);
	end if;
	meta := jsonb_build_object('items', items, 'again', again, 'cursors', cursors, 'next', wait, 'hints', hints());
	return next;
end $$;
