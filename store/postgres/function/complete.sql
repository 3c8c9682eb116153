-- Complete: outcomes of runs, under their fences. A prepared outcome is an object: kind, delay, wakes, reason, result, error, words (of
-- the error), progress, entries ([name, value] in base64), consume, groups, follow.

-- holds tells whether a task runs under exactly this fence.
create or replace function holds(t task, fence jsonb) returns boolean language sql immutable as $$
	select coalesce(t.state = 'running' and t.epoch = (fence->>'epoch')::bigint and t.nonce = (fence->>'nonce')::uuid, false)
$$;

-- valid says why an outcome cannot be applied as a whole; null if it can. It locks the groups that its follow-ups join.
create or replace function valid(o jsonb, out err text, out detail text) language plpgsql as $$
declare
	s jsonb;
	bad text;
begin
	for s in select e from jsonb_array_elements(o->'follow') e where e->>'grp' is not null order by e->>'grp' loop
		continue when exists (select 1 from jsonb_array_elements(o->'groups') g where g->>'id' = s->>'grp')
			and not exists (select 1 from grp where id = (s->>'grp')::uuid);
		continue when exists (select 1 from body where id = (s->>'id')::uuid);
		bad := joinable((s->>'grp')::uuid);
		if bad is not null then
			err := case bad when 'notfound' then 'invalid-notfound' else 'invalid-state' end;
			detail := s->>'id';
			return;
		end if;
	end loop;
end $$;

-- set_entries writes checkpoint entries; a null value removes one.
create or replace function set_entries(inout t task, list jsonb) language plpgsql as $$
declare
	e jsonb;
begin
	for e in select * from jsonb_array_elements(list) loop
		if e->>1 is null then
			delete from entry where task = t.id and name = bytes(e->>0);
		else
			insert into entry (task, name, value) values (t.id, bytes(e->>0), bytes(e->>1))
			on conflict (task, name) do update set value = excluded.value;
			t.entries := true;
		end if;
	end loop;
end $$;

-- consume takes messages out of a task's inbox. Their ids stay known, so that none comes twice.
create or replace function consume(t task, list jsonb) returns void language plpgsql as $$
declare
	ids constant uuid[] := (select array_agg(e::uuid) from jsonb_array_elements_text(list) e);
begin
	update message set body = null, pos = null where task = t.id and id = any (ids);
end $$;

-- set_progress keeps what a run said of how far it is.
create or replace function set_progress(inout t task, p jsonb, now bigint) language plpgsql as $$
begin
	if p is not null and p <> 'null' then
		t.progress_done := (p->>0)::bigint;
		t.progress_total := (p->>1)::bigint;
		t.progress_note := bytes(p->>2);
		t.progress_at := now;
	end if;
end $$;

-- settle applies an outcome to a running task that is locked. as_kind is the kind by which a repeat is known.
create or replace function settle(t task, o jsonb, as_kind text, now bigint) returns text language plpgsql as $$
declare
	how constant text := o->>'kind';
	ends constant boolean := how in ('done', 'fail', 'cancel');
	g jsonb;
	s jsonb;
begin
	t.settled_epoch := t.epoch;
	t.settled_nonce := t.nonce;
	t.settled_kind := as_kind;
	perform count_up(t.queue, t.kind, now, 'ran', 0, greatest(now - t.started_at, 0));
	if how in ('retry', 'fail') then
		t.attempts := t.attempts + 1;
	end if;
	if o->>'error' is not null then
		t := set_error(t, bytes(o->>'error'));
	end if;
	if not ends then
		t := heed(t);
		if overruled(t) and not t.owned then
			perform end_task(t, 'cancelled', t.asked, null, null, now);
			return 'cancelled';
		end if;
	end if;
	if o ? 'entries' then
		t := set_entries(t, o->'entries');
	end if;
	if o ? 'consume' then
		perform consume(t, o->'consume');
	end if;
	t := set_progress(t, o->'progress', now);
	if o ? 'groups' or o ? 'follow' then
		perform put(t); -- what follows may wake this very task
		for g in select * from jsonb_array_elements(o->'groups') loop
			perform create_group(g, now);
		end loop;
		for s in select * from jsonb_array_elements(o->'follow') loop
			perform submit_one(s, true, now);
		end loop;
		for g in select e from jsonb_array_elements(o->'groups') e where (e->>'seal')::boolean loop
			perform seal_group((g->>'id')::uuid, now);
		end loop;
		select * into t from task where id = t.id;
	end if;
	case how
	when 'done' then
		t := set_error(t, null);
		perform end_task(t, 'done', coalesce(o->>'reason', ''), bytes(o->>'result'), null, now);
		return 'done';
	when 'fail' then
		perform end_task(t, 'failed', coalesce(o->>'reason', ''), bytes(o->>'result'), null, now);
		return 'failed';
	when 'cancel' then
		perform end_task(t, 'cancelled', coalesce(nullif(o->>'reason', ''), 'cancelled'), bytes(o->>'result'), null, now);
		return 'cancelled';
	else
		return go_on(t, o, now);
	end case;
end $$;

-- go_on applies an outcome that does not end the task, which has heeded its group: a second look might see more. It returns the state.
create or replace function go_on(t task, o jsonb, now bigint) returns text language plpgsql as $$
declare
	how constant text := o->>'kind';
	delay constant bigint := coalesce((o->>'delay')::bigint, 0);
begin
	if how <> 'release' then
		t.charged := false;
	end if;
	t.history := add_event(t.history, now,
		case how when 'retry' then 'retried' when 'snooze' then 'snoozed' when 'park' then 'parked' when 'release' then 'released' else 'held' end,
		t.epoch, t.worker, case how when 'retry' then coalesce(o->>'words', '') when 'hold' then o->>'reason' else '' end);
	if how = 'retry' then
		perform count_up(t.queue, t.kind, now, 'retried');
	elsif how = 'park' then
		t.crash_run := 0;
		t := judge(t);
	end if;
	if overruled(t) then -- owned, and its handler has not been told
		t := make_ready(t, now);
	elsif how = 'release' then
		t := move(t, 'ready', now);
	elsif how = 'hold' then
		t.reason := o->>'reason';
		t := move(t, 'held', now);
	elsif how <> 'park' then
		t := wait_for(t, delay, now);
	elsif t.wakes <> coalesce((o->>'wakes')::bigint, 0) then
		t := make_ready(t, now);
	else
		t.due_at := case when delay > 0 then now + delay end;
		t := move(t, 'parked', now);
	end if;
	return t.state;
end $$;

-- complete_one ends one run. item: id, epoch, nonce, out. It returns [state, repeated, error, detail].
create or replace function complete_one(item jsonb, now bigint) returns jsonb language plpgsql as $$
declare
	of constant uuid := (item->>'id')::uuid;
	o jsonb := item->'out';
	t task;
	v record;
begin
	loop
		select * into t from task where id = of for update;
		exit when found;
		select * into t from ended where id = of;
		exit when found;
		-- One that was retried between the two looks is looked for again.
		if not exists (select 1 from standing where id = of) then
			return jsonb_build_array('', false, 'fenced');
		end if;
	end loop;
	if not holds(t, item) then
		if t.settled_epoch = (item->>'epoch')::bigint and t.settled_nonce = (item->>'nonce')::uuid and t.settled_kind = o->>'kind' then
			return jsonb_build_array(t.state, true);
		end if;
		return jsonb_build_array(case when t.staged is null then t.state else 'ending' end, false, 'fenced');
	end if;
	if t.staged is not null then
		o := t.staged;
	elsif o ? 'bad' then
		return jsonb_build_array('running', false, 'bad');
	else
		select * into v from valid(o);
		if v.err is not null then
			return jsonb_build_array('running', false, v.err, v.detail);
		end if;
	end if;
	return jsonb_build_array(settle(t, o, item->'out'->>'kind', now), false);
end $$;
