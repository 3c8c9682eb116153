-- The one road to a terminal state, and what keeps a record from expiring.

-- end_task ends a live task that is locked: whoever ends it, all that follows from it happens here.
create or replace function end_task(t task, place text, why text, outcome bytea, e bytea, now bigint) returns void language plpgsql as $$
declare
	was smallint := t.stage;
begin
	now := clock(); -- a step that waited for a lock began before what it found there
	t.history := add_event(t.history, now, 'ended', t.epoch, t.worker, why);
	t := leave_place(t);
	t := touch(t, now);
	t.state := place;
	t.reason := why;
	t.result := outcome;
	t.ended_at := now;
	t.start_by_at := null;
	if e is not null then
		t := set_error(t, e);
	end if;
	if t.inbox then
		delete from message where task = t.id and pos is not null; -- not used: sent again after a Retry, it is another chance
	end if;
	perform count_up(t.queue, t.kind, now, place);
	if t.ukey <> '' and (place = 'failed' and t.ufor <> -2 or t.ufor = 0) then -- -2 stays
		delete from key where kind = t.kind and key = t.ukey and task = t.id;
	end if;
	if t.grp is not null then
		t.stage := 3;
	elsif not t.follows then
		t := let_expire(t);
	end if;
	delete from task where id = t.id;
	insert into ended select t.*;
	if t.ord <> '' and not (t.ord = 'block' and place = 'failed') then
		perform note_work(t.queue);
	end if;
	if t.follows then
		perform submit_one((select b.on_end from body b where b.id = t.id)
			|| jsonb_build_object('id', on_end_id(t.id, t.round), 'parent', t.id, 'grp', null), true, now);
	end if;
	perform count_end(t, was, now);
	perform wake(t.parent, now);
	if t.grp is not null or t.follows then
		perform may_expire(t.id);
	end if;
	perform released(t, now);
end $$;

-- let_expire sets when an ended task is removed, and strips one that is kept for nothing.
create or replace function let_expire(inout t task) language plpgsql as $$
begin
	if t.state = 'failed' or t.expire_at is not null then
		return;
	end if;
	if t.retention = 0 then
		t.stripped := true;
		t.result := null;
		t.history := '[]';
		update body set args = null where id = t.id and args is not null;
		if t.entries then
			delete from entry where task = t.id;
		end if;
		if t.inbox then
			delete from message where task = t.id;
		end if;
		t.entries := false;
		t.inbox := false;
	end if;
	if t.retention >= 0 then
		t.expire_at := t.ended_at + greatest(t.retention, current_setting('outlast.horizon')::bigint);
	end if;
end $$;

-- may_expire does so once nothing holds the task back: the task that follows its ending, its group.
create or replace function may_expire(of uuid) returns void language plpgsql as $$
declare
	t task;
	next uuid;
begin
	select * into t from ended where id = of for update;
	if not found or t.state = 'failed' or t.expire_at is not null or t.grp is not null and t.stage <> 4 then
		return;
	end if;
	if t.follows then
		next := on_end_id(t.id, t.round);
		if exists (select 1 from task where id = next) or exists (select 1 from ended where id = next and state <> 'done' and not stripped) then
			return; -- it may yet run
		end if;
	end if;
	t := let_expire(t);
	update ended set stripped = t.stripped, result = t.result, history = t.history, expire_at = t.expire_at,
		entries = t.entries, inbox = t.inbox
	where id = t.id;
end $$;

-- released lets those expire that had to wait for the end, or the removal, of t.
create or replace function released(t task, now bigint) returns void language plpgsql as $$
declare
	p uuid;
begin
	if t.parent is not null then
		select id into p from ended where id = t.parent and follows and on_end_id(id, round) = t.id;
		if found then
			perform may_expire(p);
		end if;
	end if;
	if t.keeps then
		for p in select id from grp where keeper = t.id and not expiring order by id for update loop
			perform unkeep(p, now);
		end loop;
	end if;
end $$;

-- remove_task takes a terminal task, which is locked, out of the store, with all that belongs to it.
create or replace function remove_task(t task, now bigint) returns void language plpgsql as $$
begin
	if t.ukey <> '' then
		delete from key where kind = t.kind and key = t.ukey and task = t.id;
	end if;
	if t.entries then
		delete from entry where task = t.id;
	end if;
	if t.inbox then
		delete from message where task = t.id;
	end if;
	delete from ended where id = t.id;
	delete from body where id = t.id;
	if t.ord = 'block' and t.state = 'failed' then
		perform note_work(t.queue);
	end if;
	perform released(t, now);
	if t.grp is not null then
		update grp set members = members - 1, ended = ended - (case when t.stage = 3 then 1 else 0 end) where id = t.grp;
		perform lay_bare(t.grp, now);
	end if;
end $$;

-- delete_task removes a terminal task. request: id.
create or replace function delete_task(req jsonb) returns jsonb language plpgsql as $$
declare
	now bigint := begin_step(req);
	t task;
begin
	select * into t from ended where id = (req->>'id')::uuid for update;
	if not found then
		return missing((req->>'id')::uuid);
	end if;
	perform remove_task(t, now);
	return jsonb_build_object('hints', hints());
end $$;

-- missing answers for a task that is not in the state that an operation needs: where it stands, if anywhere.
create or replace function missing(of uuid) returns jsonb language plpgsql as $$
declare
	at text;
begin
	select s.state into at from standing s where s.id = of;
	if not found then
		return jsonb_build_object('err', 'notfound');
	end if;
	return jsonb_build_object('err', 'state', 'state', at);
end $$;
