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
