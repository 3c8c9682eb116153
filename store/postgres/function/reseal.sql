-- Reseal: sealed bytes of one record are replaced where they stand, at the version that was read.

-- changed is the answer for a record that is not as it was read.
create or replace function changed() returns jsonb language sql immutable as $$ select '{"err": "changed"}'::jsonb $$;

-- new_args replaces the args of a prepared spec, and of its OnEnd; null if it has not got what is to be replaced.
create or replace function new_args(s jsonb, req jsonb) returns jsonb language plpgsql as $$
begin
	if req->>'args' is not null then
		if s->>'args' is null then
			return null;
		end if;
		s := jsonb_set(s, '{args}', req->'args');
	end if;
	if req->>'on_end' is not null then
		if s->'on_end'->>'args' is null then
			return null;
		end if;
		s := jsonb_set(s, '{on_end,args}', req->'on_end');
	end if;
	return s;
end $$;

-- reseal replaces sealed bytes. request: task, group or schedule; version, args, on_end, result, detail, note, entries, messages.
create or replace function reseal(req jsonb) returns jsonb language plpgsql as $$
declare
	now constant bigint := begin_step(req);
	seen constant bigint := (req->>'version')::bigint;
	g grp;
	s schedule;
	spec jsonb;
begin
	if req->>'task' is not null then
		return reseal_task(req, (req->>'task')::uuid, seen);
	end if;
	if req->>'group' is not null then
		select * into g from grp where id = (req->>'group')::uuid for update;
		if not found then
			return jsonb_build_object('err', 'notfound');
		end if;
		spec := new_args(g.on_close, req);
		if g.version <> seen or spec is null then
			return changed();
		end if;
		update grp set on_close = spec, version = version + 1 where id = g.id;
		return '{}';
	end if;
	select * into s from schedule where name = req->>'schedule' for update;
	if not found then
		return jsonb_build_object('err', 'notfound');
	end if;
	spec := new_args(s.task, req);
	if s.version <> seen or spec is null then
		return changed();
	end if;
	update schedule set task = spec, version = version + 1 where name = s.name;
	return '{}';
end $$;

-- reseal_task looks whether all is there before it replaces any of it.
create or replace function reseal_task(req jsonb, of uuid, seen bigint) returns jsonb language plpgsql as $$
declare
	t task := find_live(of);
	lives constant boolean := t.id is not null;
	b body;
	spec jsonb;
	e jsonb;
begin
	if not lives then
		select * into t from ended where id = of for update;
		if not found and exists (select 1 from standing where id = of) then
			return changed(); -- it was retried between the two looks
		elsif not found then
			return jsonb_build_object('err', 'notfound');
		end if;
	end if;
	select * into b from body where id = of for update;
	if not readable(b.rest)
		or exists (select 1 from jsonb_array_elements(req->'entries') x where not exists (
			select 1 from entry n where n.task = of and n.name = bytes(x->>0)))
		or exists (select 1 from jsonb_array_elements(req->'messages') x where not exists (
			select 1 from message m where m.task = of and m.id = (x->>0)::uuid and m.pos is not null)) then
		return changed();
	end if;
	if t.version <> seen then
		return changed();
	end if;
	if t.staged is not null then
		return jsonb_build_object('err', 'state');
	end if;
	e := convert_from(b.error, 'UTF8')::jsonb;
	spec := new_args(jsonb_build_object('args', case when b.args is null then null else '' end, 'on_end', b.on_end), req);
	if req->>'result' is not null and t.result is null or req->>'detail' is not null and e->>'d' is null
		or req->>'note' is not null and coalesce(octet_length(t.progress_note), 0) = 0 or spec is null then
		return changed();
	end if;
	if req->>'args' is not null or req->>'on_end' is not null or req->>'detail' is not null then
		update body set args = coalesce(bytes(req->>'args'), args), on_end = nullif(spec->'on_end', 'null'),
			error = case when req->>'detail' is null then error else convert_to(jsonb_set(e, '{d}', req->'detail')::text, 'UTF8') end
		where id = of;
	end if;
	update entry n set value = bytes(x->>1) from jsonb_array_elements(req->'entries') x where n.task = of and n.name = bytes(x->>0);
	update message m set body = bytes(x->>1) from jsonb_array_elements(req->'messages') x where m.task = of and m.id = (x->>0)::uuid;
	if lives then
		update task set version = version + 1, progress_note = coalesce(bytes(req->>'note'), progress_note) where id = of;
	else
		update ended set version = version + 1, progress_note = coalesce(bytes(req->>'note'), progress_note),
			result = coalesce(bytes(req->>'result'), result)
		where id = of;
	end if;
	return '{}';
end $$;
