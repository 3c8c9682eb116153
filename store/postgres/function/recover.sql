-- Recover: who is dead, and what becomes of what the dead held.

-- recover_gate lets one pass through per so long, and a better witness than the last one always. request: every, force, since (of the
-- asker's session; none: it has none). It returns whether the pass may go on.
create or replace function recover_gate(req jsonb) returns boolean language plpgsql as $$
declare
	now constant bigint := begin_step(req);
	since constant bigint := coalesce((req->>'since')::bigint, 9223372036854775807);
begin
	perform set_config('synchronous_commit', 'off', true);
	update fleet set recover_at = now, recover_by = since
	where (req->>'force')::boolean or now < recover_at or now - recover_at >= (req->>'every')::bigint or since < recover_by;
	return found;
end $$;

-- gone_for reports whether a session that is gone shows that its worker is. One that went with everybody else's shows nothing: it takes a
-- session that stood before the victim was last known to live (since; none: the asker has none), and still stood when the victim's was
-- gone. What an older one has seen a younger one may act on, once it has stood for long enough to hear a beat of the victim's.
create or replace function gone_for(w worker, b beat, since bigint, silent bigint, gone_after bigint, every bigint, now bigint) returns boolean language plpgsql as $$
declare
	older constant boolean := coalesce(since < b.beat_at or since < least(b.seen_at, now), false);
begin
	b.gone_at := coalesce(b.gone_at, now);
	b.vouched := b.vouched or older;
	update beat set gone_at = b.gone_at, seen_at = least(seen_at, now), vouched = b.vouched where worker = w.id;
	return (older or b.vouched and coalesce(now - since >= every, false))
		and silent >= gone_after and b.beat_at <= b.gone_at and now - b.gone_at >= every;
end $$;

-- verdict says how a living worker is found to be dead; empty: it is not. A session is gone if the lock that it held can be taken; the
-- lock is kept until this step ends, so that nobody takes it meanwhile. since is when the asker's own
-- session began; mine says that it is this very session, which could take its lock again.
create or replace function verdict(w worker, b beat, req jsonb, mine boolean, living bigint, dead_after bigint, now bigint) returns text language plpgsql as $$
declare
	since constant bigint := (req->>'since')::bigint;
	silent bigint;
	p fleet;
begin
	if b.beat_at > now then
		b.beat_at := now;
		update beat set beat_at = now where worker = w.id;
	end if;
	silent := now - b.beat_at;
	if w.session is not null and w.boot = boot() then
		if mine or not pg_try_advisory_xact_lock(w.session) then
			update beat set gone_at = null, seen_at = now, vouched = false where worker = w.id;
		elsif gone_for(w, b, since, silent, (req->>'gone')::bigint, every_of(w.beat, dead_after, living), now) then
			return 'gone';
		end if;
	end if;
	select * into p from fleet;
	if silent >= w.dead_after and now - p.pulse_last <= w.dead_after / 3 and p.pulse_last - p.pulse_since >= w.dead_after and p.pulse_last <= now then
		return 'silence';
	end if;
	return '';
end $$;

-- recover declares the dead and puts a chunk of their tasks back. request: worker, limit, gone, stuck, since, mine (keys of this session),
-- blind (the store has no evidence at all).
create or replace function recover(req jsonb) returns jsonb language plpgsql as $$
declare
	now bigint := begin_step(req);
	n bigint := (req->>'limit')::bigint;
	mine constant bigint[] := (select coalesce(array_agg(e::bigint), '{}') from jsonb_array_elements_text(req->'mine') e);
	f record;
	w worker;
	b beat;
	t task;
	how text;
	dead jsonb := '[]';
	tasks jsonb := '[]';
	more boolean := false;
	next_in bigint := 0;
	buried bigint := 0;
	late bigint;
begin
	-- One pass at a time: while one holds the lock of a session that is gone, another would take the session for one that stands.
	-- Nobody waits for it: a crowd that did would make its passes one after the other, most of them for clients that are dead.
	if not pg_try_advisory_xact_lock(hashtextextended(current_schema(), 8)) then
		return jsonb_build_object('gated', true);
	end if;
	now := clock();
	if not exists (select 1 from worker x where x.id = req->>'worker' and x.dead_at is null) then
		req := req - 'since'; -- nobody's session vouches for it
	end if;
	select * into f from shortest();
	for w in select * from worker x where x.dead_at is null order by x.id loop
		select * into b from beat where worker = w.id;
		how := verdict(w, b, req, coalesce(w.session = any (mine), false), f.living, f.dead_after, now);
		if how <> '' then
			continue when not declare_dead(w, b, how, now);
			dead := dead || (select jsonb_build_array(to_jsonb(x)) from worker_list x where x.id = w.id);
		else
			select * into b from beat where worker = w.id;
			if b.gone_at is not null then
				next_in := greatest(every_of(w.beat, f.dead_after, f.living) - (now - b.gone_at), (req->>'gone')::bigint - (now - b.beat_at), 1000000);
			end if;
		end if;
	end loop;
	-- The dead, and those who hold something without being on record.
	for w in select * from holders_dead() loop
		for t in select * from task x where x.state = 'running' and x.worker = w.id order by x.id limit n - jsonb_array_length(tasks) + 1 for update skip locked loop
			if jsonb_array_length(tasks) >= n then
				more := true;
				exit;
			end if;
			select * into t from task x where x.id = t.id and x.state = 'running' and x.worker = w.id; -- the end of one may have changed the next
			continue when not found;
			tasks := tasks || jsonb_build_array(put_back(t, w, (req->>'blind')::boolean, now));
		end loop;
		exit when more;
	end loop;
	late := now - (req->>'stuck')::bigint;
	for t in select s.* from stuck(late, n - jsonb_array_length(tasks) + 1) s loop
		if jsonb_array_length(tasks) >= n then
			more := true;
			exit;
		end if;
		select * into t from task x where x.id = t.id and x.state = 'running' and x.deadline_at <= late for update skip locked;
		continue when not found;
		tasks := tasks || jsonb_build_array(take_stuck(t, now));
	end loop;
	more := more or exists (select 1 from holders_dead()); -- others had it locked
	delete from worker x where x.dead_at is not null and not exists (select 1 from task y where y.state = 'running' and y.worker = x.id);
	get diagnostics buried = row_count;
	if buried > 0 then
		delete from beat x where not exists (select 1 from worker y where y.id = x.worker);
	end if;
	return jsonb_build_object('dead', dead, 'tasks', tasks, 'buried', buried, 'more', more, 'next', next_in, 'hints', hints());
end $$;

-- declare_dead sets the mark, if what it stands on has not changed: the worker has not beaten, nor taken another session. Without waiting
-- for one that is being used this moment: it is not dead.
create or replace function declare_dead(w worker, b beat, how text, now bigint) returns boolean language plpgsql as $$
begin
	if not pg_try_advisory_xact_lock(hashtextextended(current_schema() || ' ' || w.id, 7)) then
		return false;
	end if;
	if not exists (select 1 from worker x join beat y on y.worker = x.id
		where x.id = w.id and x.dead_at is null and x.session is not distinct from w.session and y.beat_at <= greatest(b.beat_at, 0)) then
		return false;
	end if;
	perform die(w.id, how, now);
	return true;
end $$;

-- stuck lists the runs whose deadline was before a time, the earliest first, by walking over those who run anything.
create or replace function stuck(late bigint, most bigint) returns setof task language plpgsql stable as $$
begin
	return query
	with recursive holder as (
		(select x.worker from task x where x.state = 'running' order by x.worker limit 1)
		union all
		select n.worker from holder h, lateral (select x.worker from task x where x.state = 'running' and x.worker > h.worker order by x.worker limit 1) n
	)
	select t.* from holder h, lateral (
		select * from task x where x.state = 'running' and x.worker = h.worker and x.deadline_at <= late order by x.deadline_at, x.id limit most
	) t order by t.deadline_at, t.id limit most;
end $$;

-- holders_dead lists the workers that hold tasks and are dead or not on record, by id.
create or replace function holders_dead() returns setof worker language plpgsql as $$
declare
	of text := '';
	w worker;
begin
	loop
		select x.worker into of from task x where x.state = 'running' and x.worker > of order by x.worker limit 1;
		exit when not found;
		select * into w from worker x where x.id = of;
		if not found then
			w := null;
			w.id := of;
			w.death := 'silence';
			w.held_at := 0;
			return next w;
		elsif w.dead_at is not null then
			return next w;
		end if;
	end loop;
end $$;
