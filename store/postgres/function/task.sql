-- What operators, handlers and senders do to one task.

-- find_live locks a live task; null if it has ended or is unknown.
create or replace function find_live(of uuid) returns task language plpgsql as $$
declare
	t task;
begin
	select * into t from task where id = of for update;
	return t;
end $$;

-- cancel ends a task that waits, and asks one that runs. request: id, why. It returns the state after it.
create or replace function cancel(req jsonb) returns jsonb language plpgsql as $$
declare
	now constant bigint := begin_step(req);
	of constant uuid := (req->>'id')::uuid;
	t task;
	at text;
begin
	for i in 1..100 loop
		t := find_live(of);
		if t.id is not null then
			perform ask(t, req->>'why', now);
		end if;
		select s.state into at from standing s where s.id = of;
		if not found then
			return jsonb_build_object('err', 'notfound');
		end if;
		-- One that has come to be, or was retried, since it was looked for is looked for again: it waits, and must end.
		exit when t.id is not null or at in ('done', 'failed', 'cancelled');
	end loop;
	return jsonb_build_object('state', at, 'hints', hints());
end $$;

-- retry makes a failed or cancelled task ready in its next round. request: id.
create or replace function retry(req jsonb) returns jsonb language plpgsql as $$
declare
	now constant bigint := begin_step(req);
	of constant uuid := (req->>'id')::uuid;
	t task;
	g grp;
begin
	select * into t from ended where id = of for update;
	if not found then
		return missing(of);
	end if;
	if t.state = 'done' or t.stripped then
		return jsonb_build_object('err', 'state', 'state', t.state);
	end if;
	if t.grp is not null then
		select * into g from grp where id = t.grp for update;
		if g.aborting <> '' then
			return jsonb_build_object('err', 'state', 'state', t.state);
		end if;
	end if;
	if t.ukey <> '' then
		delete from key where kind = t.kind and key = t.ukey and until <= now;
		insert into key as k (kind, key, task, until) values (t.kind, t.ukey, t.id, case when t.ufor > 0 then now + t.ufor end)
		on conflict (kind, key) do update set until = excluded.until where k.task = excluded.task;
		if not found then
			return jsonb_build_object('err', 'duplicate', 'key', t.ukey, 'holder', (select task from key where kind = t.kind and key = t.ukey));
		end if;
	end if;
	if g.id is not null then
		perform reopen(t, now);
		t.stage := 1;
	end if;
	delete from ended where id = of;
	t.round := t.round + 1;
	t.attempts := 0; t.crashes := 0; t.crash_run := 0; t.suspect := false; t.solo := false; t.charged := false;
	t.asked := ''; t.told := false; t.result := null; t.ended_at := null; t.expire_at := null;
	t.history := add_event(t.history, now, 'again', t.epoch, '', '');
	insert into task select t.*;
	if g.id is not null and (select state from grp where id = g.id) <> 'open' then
		t.due_at := now;
		t.reason := 'group';
		t.state := '';
		perform move(t, 'held', now);
	else
		perform make_ready(t, now);
	end if;
	return jsonb_build_object('hints', hints());
end $$;

-- free makes a held task ready. request: id.
create or replace function free(req jsonb) returns jsonb language plpgsql as $$
declare
	now constant bigint := begin_step(req);
	t task := find_live((req->>'id')::uuid);
begin
	if t.id is null or t.state <> 'held' or t.reason = 'group' then
		return missing((req->>'id')::uuid);
	end if;
	t.crashes := 0; t.crash_run := 0; t.suspect := false; t.solo := false;
	t.history := add_event(t.history, now, 'freed', t.epoch, '', '');
	perform make_ready(t, now);
	return jsonb_build_object('hints', hints());
end $$;

-- save writes what a run wants to keep, under its fence. request: id, epoch, nonce, seq, entries, progress, consume.
create or replace function save(req jsonb) returns jsonb language plpgsql as $$
declare
	now constant bigint := begin_step(req);
	seq constant bigint := coalesce((req->>'seq')::bigint, 0);
	t task := find_live((req->>'id')::uuid);
begin
	if t.id is null or not holds(t, req) then
		return jsonb_build_object('err', 'fenced');
	end if;
	if t.staged is not null then
		perform settle(t, t.staged, t.staged->>'kind', now);
		return jsonb_build_object('err', 'fenced', 'hints', hints());
	end if;
	if seq > 0 and seq < t.saves then
		return jsonb_build_object('err', 'changed', 'saves', t.saves, 'asked', t.asked);
	end if;
	t.saves := greatest(t.saves, seq);
	if req ? 'entries' then
		t := set_entries(t, req->'entries');
		t.crash_run := 0;
		t := judge(t);
	end if;
	if req ? 'consume' then
		perform consume(t, req->'consume');
	end if;
	t := set_progress(t, req->'progress', now);
	t := touch(t, now);
	perform put(t);
	return jsonb_build_object('asked', t.asked, 'hints', hints());
end $$;

-- save_many does so for many runs in a few statements. request: items, each as save takes it; each id occurs once. It returns what was asked
-- of those that were saved, by id. The others are left as they are, those among them that others have locked: what becomes of them is for save
-- to say.
create or replace function save_many(req jsonb) returns jsonb language plpgsql as $$
declare
	now bigint := begin_step(req);
	runs constant text := 'running'; -- no constant where it is used: rows are found by their ids, never through an index of all that run
	res jsonb;
	ids uuid[];
begin
	select array_agg(l.id) into ids from (
		select id from task where id = any (array(select (e->>'id')::uuid from jsonb_array_elements(req->'items') e)) order by id for update skip locked
	) l;
	now := clock();
	with i as materialized (
		select x.* from jsonb_to_recordset(req->'items') as x (id uuid, epoch bigint, nonce uuid, seq bigint, entries jsonb, progress jsonb, consume jsonb)
		where x.id = any (ids)
	), saved as (
		update task t set
			saves = greatest(t.saves, coalesce(i.seq, 0)), version = t.version + 1, updated_at = now,
			crash_run = case when i.entries is null then t.crash_run else 0 end,
			suspect = case when i.entries is null then t.suspect else t.crashes >= 20 end,
			solo = t.solo and (i.entries is null or t.crashes >= 20),
			entries = t.entries or exists (select 1 from jsonb_array_elements(i.entries) e where e->>1 is not null),
			progress_done = case when i.progress is null then t.progress_done else (i.progress->>0)::bigint end,
			progress_total = case when i.progress is null then t.progress_total else (i.progress->>1)::bigint end,
			progress_note = case when i.progress is null then t.progress_note else bytes(i.progress->>2) end,
			progress_at = case when i.progress is null then t.progress_at else now end
		from i
		where t.id = i.id and t.state = runs and t.epoch = i.epoch and t.nonce = i.nonce and t.staged is null and coalesce(nullif(i.seq, 0) >= t.saves, true)
		returning t.id, t.asked, i.entries, i.consume
	), kept as (
		insert into entry (task, name, value)
		select s.id, bytes(e->>0), bytes(e->>1) from saved s, jsonb_array_elements(s.entries) e where e->>1 is not null
		on conflict (task, name) do update set value = excluded.value
	), dropped as (
		delete from entry x using saved s, jsonb_array_elements(s.entries) e
		where e->>1 is null and x.task = s.id and x.name = bytes(e->>0)
	), used as (
		update message m set body = null, pos = null from saved s, jsonb_array_elements_text(s.consume) c
		where m.task = s.id and m.id = c::uuid
	)
	select jsonb_object_agg(s.id, s.asked), array_agg(s.id) into res, ids from saved s;
	perform note_moving(ids);
	return jsonb_build_object('saved', res, 'hints', hints());
end $$;

-- stage writes an outcome as ended, unsettled. item: id, epoch, nonce, out.
create or replace function stage(req jsonb) returns jsonb language plpgsql as $$
declare
	now constant bigint := begin_step(req);
	t task := find_live((req->>'id')::uuid);
	v record;
begin
	if t.id is null or not holds(t, req) then
		return jsonb_build_object('err', 'fenced');
	end if;
	if t.staged is not null then
		return jsonb_build_object('err', 'state');
	end if;
	if req->'out' ? 'bad' then
		return jsonb_build_object('err', 'bad');
	end if;
	select * into v from valid(req->'out');
	if v.err is not null then
		return jsonb_build_object('err', v.err, 'detail', v.detail);
	end if;
	t.staged := req->'out';
	t := touch(t, now);
	perform put(t);
	return jsonb_build_object('hints', hints());
end $$;

-- send puts a message into a task's inbox and wakes the task. request: task, id, name, body. A message that the task has seen has no
-- effect.
create or replace function send(req jsonb) returns jsonb language plpgsql as $$
declare
	now constant bigint := begin_step(req);
	of constant uuid := (req->>'task')::uuid;
	t task;
	at text;
begin
	for i in 1..100 loop
		t := find_live(of);
		if exists (select 1 from message where task = of and id = (req->>'id')::uuid) then
			return '{}';
		end if;
		exit when t.id is not null;
		select s.state into at from standing s where s.id = of;
		if not found then
			return jsonb_build_object('err', 'notfound');
		end if;
		if at in ('done', 'failed', 'cancelled') then
			return jsonb_build_object('err', 'state', 'state', at);
		end if;
		-- It has come to be, or was retried, since it was looked for: it is looked for again.
	end loop;
	if t.id is null then
		return jsonb_build_object('err', 'state', 'state', at);
	end if;
	insert into message (task, id, name, body, sent_at, pos)
	values (of, (req->>'id')::uuid, req->>'name', bytes(req->>'body'), now, (select coalesce(max(pos), 0) + 1 from message where task = of));
	if not t.inbox then
		update task set inbox = true where id = of;
	end if;
	perform wake(of, now);
	return jsonb_build_object('hints', hints());
end $$;
