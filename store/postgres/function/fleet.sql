-- Workers.

-- worker_list is workers as readers want them.
create or replace view worker_list as
	select w.id, w.beat, w.dead_after, w.joined_at, b.beat_at, w.dead_at, w.death, w.held_at, w.evidence,
		encode(w.info, 'base64') as info, encode(b.load, 'base64') as load
	from worker w join beat b on b.worker = w.id;

-- boot names this run of the server: locks of sessions do not outlive it.
create or replace function boot() returns bigint language sql stable as $$
	select (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint
$$;

-- join_worker creates an incarnation. request: id, beat, dead_after, info, load, evidence, session.
create or replace function join_worker(req jsonb) returns jsonb language plpgsql as $$
declare
	now constant bigint := begin_step(req);
begin
	insert into worker (id, beat, dead_after, joined_at, evidence, session, boot, since, info)
	values (req->>'id', (req->>'beat')::bigint, (req->>'dead_after')::bigint, now, req->>'evidence', (req->>'session')::bigint,
		boot(), case when req->>'session' is not null then now end, bytes(req->>'info'))
	on conflict do nothing;
	if not found then
		return jsonb_build_object('err', 'duplicate');
	end if;
	insert into beat (worker, beat_at, load) values (req->>'id', now, bytes(req->>'load'))
	on conflict (worker) do update set beat_at = excluded.beat_at, gone_at = null, seen_at = 0, vouched = false, load = excluded.load;
	return jsonb_build_object('now', now);
end $$;

-- renew writes that a worker holds other evidence than before. request: id, session. It returns since when.
create or replace function renew(req jsonb) returns jsonb language plpgsql as $$
declare
	now constant bigint := begin_step(req);
begin
	update worker set session = (req->>'session')::bigint, boot = boot(), since = now
	where id = req->>'id' and dead_at is null;
	return jsonb_build_object('now', now, 'found', found);
end $$;

-- shortest returns the shortest dead-after of the living, and how many they are.
create or replace function shortest(out dead_after bigint, out living bigint) language plpgsql stable as $$
begin
	select coalesce(min(w.dead_after), 4611686018427387904), count(*) into dead_after, living from worker w where w.dead_at is null;
end $$;

-- every_of is how long a worker is told to wait between beats: a large fleet keeps to two hundred beats a second.
create or replace function every_of(beat bigint, dead_after bigint, living bigint) returns bigint language sql immutable as $$
	select least(greatest(beat, living * 5000000), dead_after / 5)
$$;

-- beat keeps a worker alive. request: worker, load, queues, kinds. What it writes is not waited for: if the server dies with
-- it, the pulse has a gap.
create or replace function beat(req jsonb) returns jsonb language plpgsql as $$
declare
	now bigint := begin_step(req);
	of constant text := req->>'worker';
	f record;
	w record;
	work boolean := false;
	suspects boolean := false;
	kinds constant text[] := sorted_kinds(req->'kinds');
	q text;
begin
	perform set_config('synchronous_commit', 'off', true);
	if not guard(of, false) then
		return jsonb_build_object('err', 'dead');
	end if;
	update beat set beat_at = now, load = bytes(req->>'load'), gone_at = null, vouched = false where worker = of;
	select * into f from shortest();
	-- A beat that was overtaken by another while it waited for the row has an older time: that is no gap, and the later time stands.
	update fleet set
		pulse_since = case when abs(now - pulse_last) > f.dead_after / 3 then now else pulse_since end, pulse_last = now
	where pulse_last - now > f.dead_after / 3 or now - pulse_last >= least(1000000000, f.dead_after / 15);
	select x.beat, x.dead_after, x.evidence, x.session into w from worker x where x.id = of;
	for q in select * from jsonb_array_elements_text(req->'queues') loop
		work := work or has_work(q, kinds, now);
		suspects := suspects or has_suspects(q, kinds, now);
	end loop;
	if suspects then
		update fleet set suspect_at = now where suspect_at > now or now - suspect_at >= w.dead_after;
		suspects := found;
	end if;
	return jsonb_build_object('work', work, 'suspects', suspects, 'ripe', is_ripe(now),
		'ticks', exists (select 1 from schedule where not paused and next_at is not null and next_at <= now),
		'every', every_of(w.beat, f.dead_after, f.living), 'session', w.session,
		'asked', (select jsonb_agg(jsonb_build_array(t.id, t.epoch, t.nonce, t.kind, t.asked) order by t.id) from task t
			where t.state = 'running' and t.worker = of and t.asked <> '' and not t.told));
end $$;

-- die marks a worker as dead, once and for ever. Whoever claims or beats for it has ended before, or is refused after.
create or replace function die(of text, how text, now bigint) returns void language plpgsql as $$
begin
	perform guard(of, true);
	update worker set dead_at = now, death = how, session = null,
		held_at = (select count(*) from task where state = 'running' and worker = of)
	where id = of and dead_at is null;
end $$;

-- leave marks a worker as left and puts a chunk of its tasks back. request: worker.
create or replace function leave(req jsonb) returns jsonb language plpgsql as $$
declare
	now constant bigint := begin_step(req);
	of constant text := req->>'worker';
	w worker;
	t task;
begin
	perform die(of, 'left', now);
	select * into w from worker where id = of;
	if not found then
		return jsonb_build_object('more', false);
	end if;
	for t in select * from task where state = 'running' and worker = of order by id limit 100 for update loop
		select * into t from task where id = t.id and state = 'running' and worker = of; -- the end of one may have changed the next
		continue when not found;
		perform put_back(t, w, false, now);
	end loop;
	return jsonb_build_object('more', exists (select 1 from task where state = 'running' and worker = of), 'hints', hints());
end $$;
