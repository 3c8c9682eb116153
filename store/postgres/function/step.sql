-- What every step is made of: its clock, what it tells afterwards, and the row of a task that it writes.
-- Every operation is one call of a function, so no lock outlives it by a client that is paused. Inside, each statement sees
-- what others have committed before it: a step locks first, and looks then. Locks go worker, lanes, limits, tasks, groups, parents.
-- A function in SQL is one that the server writes into the statement that calls it. One that it cannot, as it has a table or an aggregate,
-- is in plpgsql: the server keeps plans of those for a session, and makes those of the others anew in every transaction.

-- clock is the store's, in nanoseconds.
create or replace function clock() returns bigint language sql volatile as $$
	select (extract(epoch from clock_timestamp()) * 1000000)::bigint * 1000
$$;

-- begin_step takes a request; returns now. What it sets, and what is noted after it, lasts until the transaction ends.
create or replace function begin_step(req jsonb) returns bigint language plpgsql as $$
begin
	perform set_config('outlast.horizon', coalesce(req->>'horizon', '600000000000'), true),
		set_config('outlast.watched', (exists (select 1 from watch where until > (extract(epoch from clock_timestamp()) * 1000)::bigint))::text, true);
	if current_setting('synchronous_commit') in ('off', 'local') then
		perform set_config('synchronous_commit', 'on', true); -- what is accepted is durable, whatever the default of the database
	end if;
	return clock();
end $$;

-- hints returns what watchers are to be told once the step is durable.
create or replace function hints() returns jsonb language sql volatile as $$
	select jsonb_strip_nulls(jsonb_build_object(
		'work', nullif(current_setting('outlast.work', true), ''), 'all', nullif(current_setting('outlast.all', true), ''),
		'tasks', nullif(concat(current_setting('outlast.tasks', true), current_setting('outlast.moving', true)), ''),
		'rest', nullif(current_setting('outlast.tasks', true), ''), 'asked', nullif(current_setting('outlast.asked', true), '')))
$$;

-- note_work notes that a queue may have claimable work. Names have no control characters.
create or replace function note_work(queue text) returns void language plpgsql as $$
declare
	noted text := coalesce(current_setting('outlast.work', true), '');
begin
	if strpos(noted, chr(1) || queue || chr(1)) = 0 then
		perform set_config('outlast.work', noted || chr(1) || queue || chr(1), true);
	end if;
end $$;

-- note_all notes that any queue may have claimable work: a limit or a pause has changed.
create or replace function note_all() returns void language sql volatile as $$ select set_config('outlast.all', '1', true) $$;

-- note_task notes a change of a task, if anybody follows any; note_tasks of many.
create or replace function note_task(id uuid) returns void language plpgsql as $$
begin
	if current_setting('outlast.watched') = 'true' then
		perform set_config('outlast.tasks', coalesce(current_setting('outlast.tasks', true), '') || id || ' ', true);
	end if;
end $$;

create or replace function note_tasks(ids uuid[]) returns void language plpgsql as $$
begin
	if cardinality(ids) > 0 and current_setting('outlast.watched') = 'true' then
		perform set_config('outlast.tasks', concat(current_setting('outlast.tasks', true), array_to_string(ids, ' '), ' '), true);
	end if;
end $$;

-- note_moving notes changes that have left tasks ready or running.
create or replace function note_moving(ids uuid[]) returns void language plpgsql as $$
begin
	if cardinality(ids) > 0 and current_setting('outlast.watched') = 'true' then
		perform set_config('outlast.moving', concat(current_setting('outlast.moving', true), array_to_string(ids, ' '), ' '), true);
	end if;
end $$;

create or replace function note_asked(id uuid, worker text) returns void language sql volatile as $$
	select set_config('outlast.asked', coalesce(current_setting('outlast.asked', true), '') || id || ' ' || worker || chr(1), true)
$$;

-- add_event appends to a history, of which the newest 20 are kept.
create or replace function add_event(h jsonb, now bigint, kind text, epoch bigint, worker text, words text) returns jsonb language sql stable as $$
	select case when jsonb_array_length(h) >= 20 then h - 0 else h end || jsonb_build_array(jsonb_build_array(now, kind, epoch, worker, words))
$$;

-- lane_flag tells lanes of one queue, kind, lane and limit key apart.
create or replace function lane_flag(ord text, suspect boolean) returns smallint language sql immutable as $$
	select (case when ord = '' then case when suspect then 3 else 0 end else case when suspect then 2 else 1 end end)::smallint
$$;

-- derive makes an id of its parts, as store.DeriveID does.
create or replace function derive(variadic parts text[]) returns uuid language plpgsql immutable as $$
declare
	p text;
	all_of bytea := '';
	h bytea;
begin
	foreach p in array parts loop
		all_of := all_of || int8send(octet_length(p)::bigint) || convert_to(p, 'UTF8');
	end loop;
	h := substr(sha256(all_of), 1, 16);
	h := set_byte(h, 6, (get_byte(h, 6) & 15) | 128);
	h := set_byte(h, 8, (get_byte(h, 8) & 63) | 128);
	return encode(h, 'hex')::uuid;
end $$;

create or replace function on_end_id(id uuid, round bigint) returns uuid language sql immutable as $$
	select derive('end', id::text, round::text)
$$;

-- fault is an error that the store itself gives, as the program writes them.
create or replace function fault(kind text, words text) returns bytea language sql stable as $$
	select convert_to(json_build_object('m', words, 't', kind)::text, 'UTF8')
$$;

-- readable tells whether the record of a task can be read: its first byte is the format.
create or replace function readable(rest bytea) returns boolean language sql immutable as $$
	select octet_length(rest) > 1 and get_byte(rest, 0) = 1
$$;

-- is_readable looks it up.
create or replace function is_readable(of uuid) returns boolean language plpgsql stable as $$
begin
	return (select readable(b.rest) from body b where b.id = of);
end $$;

-- shard is where a step counts in the statistics: who counts in one keeps others from it until he has committed, so each takes the first that is free.
-- If none is, some wait for others.
create or replace function shard(schema text) returns smallint language plpgsql as $$
declare
	few constant int := 64;
	name constant int := hashtext(schema);
begin
	for n in 0 .. few - 1 loop
		if pg_try_advisory_xact_lock(name, n) then
			return n;
		end if;
	end loop;
	return pg_backend_pid() % few;
end $$;

-- count_up adds to the statistics of this minute.
create or replace function count_up(q text, k text, now bigint, what text, n bigint default 1, spent bigint default 0) returns void language plpgsql as $$
begin
	insert into stat as s (at, queue, kind, shard, submitted, claimed, done, failed, cancelled, retried, crashed, waited, ran)
	values (now - now % 60000000000, q, k, shard(current_schema()),
		case what when 'submitted' then n else 0 end, case what when 'claimed' then n else 0 end, case what when 'done' then n else 0 end,
		case what when 'failed' then n else 0 end, case what when 'cancelled' then n else 0 end, case what when 'retried' then n else 0 end,
		case what when 'crashed' then n else 0 end, case what when 'claimed' then spent else 0 end, case what when 'ran' then spent else 0 end)
	on conflict (at, queue, kind, shard) do update set
		submitted = s.submitted + excluded.submitted, claimed = s.claimed + excluded.claimed, done = s.done + excluded.done,
		failed = s.failed + excluded.failed, cancelled = s.cancelled + excluded.cancelled, retried = s.retried + excluded.retried,
		crashed = s.crashed + excluded.crashed, waited = s.waited + excluded.waited, ran = s.ran + excluded.ran;
end $$;

-- put writes what of a live task can change.
create or replace function put(t task) returns void language plpgsql as $$
begin
	update task set
		state = t.state, reason = t.reason, version = t.version, round = t.round, wakes = t.wakes, suspect = t.suspect, solo = t.solo,
		alone = t.alone, saves = t.saves, asked = t.asked, told = t.told, epoch = t.epoch, nonce = t.nonce, worker = t.worker,
		settled_epoch = t.settled_epoch, settled_nonce = t.settled_nonce, settled_kind = t.settled_kind, staged = t.staged,
		attempts = t.attempts, crashes = t.crashes, crash_run = t.crash_run, charged = t.charged, due_at = t.due_at,
		ready_at = t.ready_at, started_at = t.started_at, deadline_at = t.deadline_at, start_by_at = t.start_by_at,
		updated_at = t.updated_at, progress_done = t.progress_done, progress_total = t.progress_total,
		progress_note = t.progress_note, progress_at = t.progress_at, history = t.history, flag = t.flag, turn = t.turn, stage = t.stage,
		entries = t.entries, inbox = t.inbox, failing = t.failing, keeps = t.keeps
	where id = t.id;
	if not found then
		raise exception 'task % is not live', t.id using errcode = 'data_corrupted';
	end if;
end $$;

-- set_error writes how an attempt failed; null takes it back.
create or replace function set_error(inout t task, e bytea) language plpgsql as $$
begin
	if e is not null or t.failing then
		update body set error = e where id = t.id;
	end if;
	t.failing := e is not null;
end $$;

-- judge sets whether a task is a suspect by what it has been through.
create or replace function judge(inout t task) language plpgsql as $$
begin
	t.suspect := t.crash_run >= 2 or t.crashes >= 20;
	t.solo := t.solo and t.suspect;
end $$;
