-- complete_bare ends runs that are done and bring nothing but a result: those of tasks that have been through nothing else, and on which
-- nothing hangs but a group. Most are. They come as arrays in the order of ids, each id once; turns is in which order they were told. by is the
-- worker whose runs they mostly are. The others take the road of complete_all. It returns what became of each, in the order of ids; null if
-- all of them ended so.
create or replace function complete_bare(ids uuid[], epochs bigint[], nonces uuid[], results bytea[], turns bigint[], by text, now bigint) returns jsonb language plpgsql as $$
declare
	parents uuid[] := '{}'; -- those among them that one wakes must end in their turn
	any_bare boolean := true;
	horizon constant bigint := current_setting('outlast.horizon')::bigint;
	runs constant text := 'running'; -- no constant where it is used: rows are found by their ids, never through an index of all that run
	last constant jsonb := add_event('[]', now, 'ended', 1, by, ''); -- of a first run
	took uuid[];
	sums jsonb;
begin
	if cardinality(ids) > 1 then
		select coalesce(array_agg(t.parent) filter (where t.parent = any (ids)), '{}'), coalesce(bool_or(t.lim = '' and t.parent is null and not t.follows), false)
		into parents, any_bare from task t where t.id = any (ids);
	end if;
	if any_bare then
		with gone as (
			delete from task t using unnest(ids, epochs, nonces, results) as i (id, epoch, nonce, result)
			where t.id = i.id and t.id <> all (parents) and t.epoch = i.epoch and t.state = runs and t.nonce = i.nonce and t.round = 0 and t.wakes = 0 and t.asked = '' and t.staged is null
				and t.attempts = 0 and t.crashes = 0 and not t.charged and t.progress_at is null and t.lim = '' and t.ord = '' and t.flag = 0 and t.parent is null
				and t.ukey = '' and t.ufor = 0 and t.retention <> 0 and not t.follows and not t.entries and not t.inbox and not t.failing and not t.keeps
			returning t.queue, t.kind, t.started_at, t.grp, t.stage, t.id, t.version, t.saves, t.epoch, t.nonce, t.worker, t.created_at, t.due_at, t.ready_at,
				t.history, t.lane, t.priority, t.rank, t.turn, t.timeout, t.owned, t.line, t.fingerprint, t.retention, i.result
		), moved as (
			insert into ended (
				id, state, version, saves, epoch, settled_epoch, settled_nonce, settled_kind, created_at, due_at, ready_at, started_at,
				ended_at, updated_at, expire_at, result, history,
				kind, queue, lane, lim, flag, ord, priority, rank, turn, timeout, owned, grp, stage, line, ukey, ufor, fingerprint, retention, follows)
			select id, 'done', version + 1, saves, epoch, epoch, nonce, 'done', created_at, due_at, ready_at, started_at,
				now, now, case when retention > 0 and grp is null then now + greatest(retention, horizon) end, result,
				case when epoch = 1 and worker = by and jsonb_array_length(history) < 20 then history || last else add_event(history, now, 'ended', epoch, worker, '') end,
				kind, queue, lane, '', 0, '', priority, rank, turn, timeout, owned, grp, case when grp is null then 0 else 3 end, line, '', 0, fingerprint, retention, false
			from gone
			returning id
		), counted as (
			insert into stat as m (at, queue, kind, shard, done, ran)
			select now - now % 60000000000, queue, kind, shard(current_schema()), count(*), sum(greatest(now - started_at, 0))
			from gone group by queue, kind order by queue, kind
			on conflict (at, queue, kind, shard) do update set done = m.done + excluded.done, ran = m.ran + excluded.ran
		)
		select array_agg(m.id),
			(select jsonb_agg(jsonb_build_object('id', x.grp, 'n', x.n, 'living', x.living) order by x.grp)
				from (select grp, count(*) n, count(*) filter (where stage = 1) living from gone where grp is not null group by grp) x)
		into took, sums from moved m;
	end if;
	if current_setting('outlast.watched') = 'true' then
		perform note_tasks(took);
	end if;
	if sums is not null then
		perform count_done(sums);
	end if;
	if cardinality(took) = cardinality(ids) then
		return null;
	end if;
	return complete_rest(ids, epochs, nonces, results, turns, coalesce(took, '{}'), parents, now);
end $$;

-- complete_done is complete_bare as a call.
create or replace function complete_done(horizon bigint, ids uuid[], epochs bigint[], nonces uuid[], results bytea[], turns bigint[]) returns jsonb language plpgsql as $$
declare
	now constant bigint := begin_step(jsonb_build_object('horizon', horizon));
	res constant jsonb := complete_bare(ids, epochs, nonces, results, turns, null, now);
begin
	return jsonb_build_object('items', res, 'hints', hints());
end $$;

-- complete_rest completes those of such runs that have not ended yet, those that took is without, one by one in their turns if it must be. parents are
-- those that one of them wakes. It returns what became of each of all.
create or replace function complete_rest(
	ids uuid[], epochs bigint[], nonces uuid[], results bytea[], turns bigint[], took uuid[], parents uuid[], now bigint
) returns jsonb language plpgsql as $$
declare
	plain uuid[];
	res jsonb[] := array_fill('["done", false]'::jsonb, array[cardinality(ids)]);
	i bigint;
	noting constant text := note_slots();
begin
	perform 1 from task t where t.id = any (ids) order by t.id for update; -- as others lock them
	plain := took || complete_plain(ids, epochs, nonces, results, null, null, null, parents, now);
	for i in select x.place from unnest(ids, turns) with ordinality as x (id, turn, place) where x.id <> all (plain) order by x.turn loop
		res[i] := complete_one(jsonb_build_object('id', ids[i], 'epoch', epochs[i], 'nonce', nonces[i],
			'out', jsonb_build_object('kind', 'done', 'result', encode(results[i], 'base64'))), now);
	end loop;
	perform give_noted();
	return to_jsonb(res);
end $$;
