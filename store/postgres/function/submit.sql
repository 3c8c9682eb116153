-- Submit. A prepared spec is what the program makes of one: an object with what the steps need, args and rest in base64.

-- standing is where tasks stand, as readers see it.
create or replace view standing as
	select id, case when staged is null then state else 'ending' end as state, fingerprint from task
	union all
	select id, state, fingerprint from ended;

-- bytes reads base64; null stays null.
create or replace function bytes(text) returns bytea language sql immutable as $$ select decode($1, 'base64') $$;

-- put_body stores what of a prepared spec does not change. It returns false if the id is known.
create or replace function put_body(s jsonb) returns boolean language plpgsql as $$
begin
	insert into body (id, rest, args, labels, on_end, retry_max, retry_base, retry_factor, retry_cap, crash_spends)
	values ((s->>'id')::uuid, bytes(s->>'rest'), bytes(s->>'args'), nullif(s->'labels', 'null'), nullif(s->'on_end', 'null'),
		coalesce((s->>'rmax')::bigint, 0), coalesce((s->>'rbase')::bigint, 0), coalesce((s->>'rfactor')::float8, 0),
		coalesce((s->>'rcap')::bigint, 0), coalesce((s->>'spends')::boolean, false))
	on conflict do nothing;
	return found;
end $$;

-- take_key takes a unique key for a newcomer. holder is null if it is the newcomer's now, else who had it a moment ago; replaced who had
-- it before.
create or replace function take_key(s jsonb, now bigint, out holder uuid, out replaced uuid) language plpgsql as $$
declare
	of_kind constant text := s->>'kind';
	name constant text := s->>'ukey';
	lives constant bigint := coalesce((s->>'ufor')::bigint, 0);
	k key;
	h task;
begin
	loop
		insert into key (kind, key, task, until)
		values (of_kind, name, (s->>'id')::uuid, case when lives > 0 then now + lives end)
		on conflict do nothing;
		if found then
			holder := null;
			return;
		end if;
		select * into k from key where kind = of_kind and key = name;
		if not found then
			continue;
		end if;
		if k.until <= now then
			delete from key where kind = of_kind and key = name and task = k.task and until = k.until;
			continue;
		end if;
		holder := k.task;
		if replaced is not null or coalesce(s->>'uconf', '') not in ('replace', 'latest') then
			return; -- or what followed the ending of who was replaced took the key
		end if;
		-- The task before the key, as in every step that ends a task.
		select * into h from task where id = k.task for update;
		if not found or h.state = 'running' and s->>'uconf' <> 'latest' or h.state <> 'running' and h.owned then
			return;
		end if;
		perform 1 from key where kind = of_kind and key = name and task = h.id for update;
		if not found then
			continue;
		end if;
		if h.state <> 'running' then
			perform end_task(h, 'cancelled', 'replaced', null, null, now);
		end if;
		delete from key where kind = of_kind and key = name and task = h.id;
		replaced := h.id;
	end loop;
end $$;

-- submit_one stores one task. With follow it comes from an ending: a key that is taken is then no error. It returns
-- [id, state, existed, fingerprint, error, detail, replaced] of the task that stands.
create or replace function submit_one(s jsonb, follow boolean, now bigint) returns jsonb language plpgsql as $$
declare
	of constant uuid := (s->>'id')::uuid;
	of_group constant uuid := (s->>'grp')::uuid;
	holder uuid;
	replaced uuid;
	stands record;
	bad text;
	at text;
begin
	if not put_body(s) then
		return (select jsonb_build_array(t.id, t.state, true, t.fingerprint) from standing t where t.id = of);
	end if;
	if of_group is not null then
		bad := joinable(of_group);
		if bad is not null then
			delete from body where id = of;
			return jsonb_build_array(of, '', false, '', case bad when 'notfound' then bad else 'state' end, bad);
		end if;
	end if;
	if coalesce(s->>'ukey', '') <> '' then
		loop
			select k.holder, k.replaced into holder, replaced from take_key(s, now) k;
			exit when holder is null;
			-- One look at the key and at who holds it: who has ended and let go of it since stands no more.
			select t.id, t.state, t.fingerprint into stands from key k left join standing t on t.id = k.task
			where k.kind = s->>'kind' and k.key = s->>'ukey' and k.task = holder;
			if found then
				delete from body where id = of;
				return (select jsonb_build_array(stands.id, stands.state, true, stands.fingerprint,
					case when s->>'uconf' = 'reject' and not follow then 'duplicate' end, null, replaced) where stands.id is not null);
			end if;
		end loop;
	end if;
	at := put_task(s, now);
	perform count_up(s->>'queue', s->>'kind', now, 'submitted');
	return jsonb_build_array(of, at, false, coalesce(s->>'print', ''), null, null, replaced);
end $$;

-- put_task stores the live record of a task that may be stored. It returns its state.
create or replace function put_task(s jsonb, now bigint) returns text language plpgsql as $$
declare
	due constant bigint := greatest(now, (s->>'due')::bigint, now + coalesce((s->>'delay')::bigint, 0));
	of_group constant uuid := (s->>'grp')::uuid;
	at constant text := case when of_group is not null then 'held' when due > now then 'scheduled' else 'ready' end;
begin
	if at = 'scheduled' and not exists (
		select 1 from task o where o.state in ('scheduled', 'parked') and o.due_at is not null and o.due_at < due
	) or at = 'ready' then
		perform note_work(s->>'queue');
	end if;
	insert into task (id, state, reason, created_at, updated_at, due_at, ready_at, start_by_at, kind, queue, lane, lim, flag, ord, priority, rank, turn,
		timeout, owned, grp, stage, line, parent, ukey, ufor, fingerprint, retention, follows)
	values ((s->>'id')::uuid, at, case when of_group is null then '' else 'group' end, now, now, due, case when at = 'ready' then now end,
		now + (s->>'startby')::bigint, s->>'kind', s->>'queue', coalesce(s->>'lane', ''), coalesce(s->>'lim', ''),
		lane_flag(coalesce(s->>'ord', ''), false), coalesce(s->>'ord', ''), coalesce((s->>'prio')::bigint, 0),
		case when coalesce(s->>'ord', '') = '' then -coalesce((s->>'prio')::bigint, 0) else 0 end, case when coalesce(s->>'ord', '') = '' then due else 0 end,
		coalesce((s->>'timeout')::bigint, 0), coalesce((s->>'owned')::boolean, false), of_group, (of_group is not null)::int,
		coalesce((s->>'line')::bigint, 0), (s->>'parent')::uuid, coalesce(s->>'ukey', ''), coalesce((s->>'ufor')::bigint, 0),
		coalesce(s->>'print', ''), coalesce((s->>'retention')::bigint, 0), s->'on_end' is not null and s->'on_end' <> 'null');
	if of_group is not null then
		update grp set total = total + 1, members = members + 1, living = living + 1, waiting = waiting + 1, version = version + 1, updated_at = now
		where id = of_group;
	end if;
	return at;
end $$;

-- submit stores groups and tasks. request: groups, specs, keyed (some spec has a unique key). It returns groups' nothing, and items
-- in order, or, where no key is in play, what was new, what stood before, and what was refused.
create or replace function submit(req jsonb) returns jsonb language plpgsql as $$
declare
	now constant bigint := begin_step(req);
	g jsonb;
	s jsonb;
	items jsonb := '[]';
	res jsonb;
begin
	for g in select * from jsonb_array_elements(req->'groups') loop
		perform create_group(g, now);
	end loop;
	if (req->>'keyed')::boolean then
		for s in select * from jsonb_array_elements(req->'specs') loop
			items := items || jsonb_build_array(submit_one(s, false, now));
		end loop;
		res := jsonb_build_object('items', items);
	elsif jsonb_array_length(req->'specs') > 0 then
		res := submit_many(req->'specs', now);
	else
		res := '{}';
	end if;
	for g in select * from jsonb_array_elements(req->'groups') e where (e->>'seal')::boolean loop
		perform seal_group((g->>'id')::uuid, now);
	end loop;
	return res || jsonb_build_object('hints', hints());
end $$;
