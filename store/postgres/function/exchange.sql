-- exchange completes, and claims for a worker in the same call: each half succeeds by itself. request: items and what complete takes besides,
-- or none; claim: worker, nonce, repeat, queues (queue, slots, cursor), kinds, suspects, company, aged. It returns a row for each task taken, in
-- the order of taking, with what is not the same for all that a claim takes, and then one with meta alone. A claim that says trusting fails with
-- OL001, and nothing is done, if a record cannot be read: asked again without, it ends such a task and takes another.
create or replace function exchange(req jsonb) returns table (
	meta jsonb, id uuid, version bigint, round bigint, wakes bigint, suspect boolean, solo boolean, alone boolean, saves bigint, asked text,
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
	lives constant boolean := guard(owner, coalesce((of->>'suspects')::int, 0) > 0); -- before all other locks
	items constant jsonb := case when req ? 'items' then complete_all(req, now) end;
	waits constant text := 'ready'; -- no constant where it is used: rows are found by their ids, never through an index of all that wait
	ids uuid[];
	charge uuid[];
	again boolean;
	cursors jsonb;
	limited boolean := true;
	shut text[] := '{}';
	due boolean;
	held bigint;
	wait bigint;
	n bigint;
	first jsonb; -- the history of one that is claimed for the first time
begin
	if not lives then
		meta := jsonb_build_object('items', items, 'claim_err', 'dead', 'hints', hints());
		return next;
		return;
	end if;
	if (of->>'repeat')::boolean then
		return query
		select null::jsonb, t.id, t.version, t.round, t.wakes, t.suspect, t.solo, t.alone, t.saves, t.asked, t.told, t.epoch, t.settled_epoch, t.settled_nonce,
			t.settled_kind, t.staged, t.attempts, t.crashes, t.crash_run, t.charged, t.created_at, t.due_at, t.ready_at, t.started_at, t.deadline_at,
			t.updated_at, t.progress_done, t.progress_total, t.progress_note, t.progress_at, t.grp, t.parent, b.rest, b.args, b.labels, b.on_end, b.error
		from task t join body b on b.id = t.id where t.state = 'running' and t.worker = owner and t.nonce = mark order by t.id;
		again := true;
	else
		due := promote_due(100, now) = 100;
		if (of->>'suspects')::int > 0 then
			select p.ids, p.charge, p.more, '{}'::jsonb into ids, charge, again, cursors from pick_suspects(of, now) p;
		else
			select p.ids, p.charge, p.more, p.cursors, p.limited, p.shut into ids, charge, again, cursors, limited, shut from pick(of, now) p;
		end if;
		again := again or due;
		if cardinality(ids) > 0 then
			now := clock(); -- what was locked may be younger than this step
			held := prepare_runs(charge, owner, now);
			first := add_event('[]', now, 'claimed', 1, owner, '');
			return query
			with started as (
				update task t set
					state = 'running', reason = '', version = t.version + 1, updated_at = now, epoch = t.epoch + 1, nonce = mark, worker = owner,
					started_at = now, told = t.asked <> '', alone = held = 0 and cardinality(ids) = 1 and not coalesce((of->>'company')::boolean, false),
					saves = 0, start_by_at = null, deadline_at = case when t.timeout > 0 then now + t.timeout end, charged = t.charged or t.id = any (charge),
					history = case when t.epoch = 0 and t.history = '[]' then first else add_event(t.history, now, 'claimed', t.epoch + 1, owner, '') end
				from unnest(ids) with ordinality i (id, place)
				where t.id = i.id and t.state = waits
				returning t.*, i.place
			), counted as (
				insert into stat as m (at, queue, kind, shard, claimed, waited)
				select now - now % 60000000000, queue, kind, pg_backend_pid() % 16, count(*), sum(greatest(now - started.ready_at, 0))
				from started group by queue, kind order by queue, kind
				on conflict (at, queue, kind, shard) do update set claimed = m.claimed + excluded.claimed, waited = m.waited + excluded.waited
			)
			select null::jsonb, t.id, t.version, t.round, t.wakes, t.suspect, t.solo, t.alone, t.saves, t.asked, t.told, t.epoch, t.settled_epoch, t.settled_nonce,
				t.settled_kind, t.staged, t.attempts, t.crashes, t.crash_run, t.charged, t.created_at, t.due_at, t.ready_at, t.started_at, t.deadline_at,
				t.updated_at, t.progress_done, t.progress_total, t.progress_note, t.progress_at, t.grp, t.parent, b.rest, b.args, b.labels, b.on_end, b.error
			from started t join body b on b.id = t.id and readable(b.rest) order by t.place;
			get diagnostics n = row_count;
			if n < cardinality(ids) then
				raise exception 'a record cannot be read' using errcode = 'OL001';
			end if;
			perform note_moving(ids);
		end if;
		wait := next_claim(of, now, limited, shut);
	end if;
	meta := jsonb_build_object('items', items, 'again', again, 'cursors', cursors, 'next', wait, 'hints', hints());
	return next;
end $$;
