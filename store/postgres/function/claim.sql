-- Claim. What is taken is locked first, passing over what others have locked, and then made to run in one statement.

-- full_task is a task as readers want it.
create or replace view full_task as
	select t.*, b.rest, b.args, b.labels, b.on_end, b.error from task t join body b on b.id = t.id
	union all
	select t.*, b.rest, b.args, b.labels, b.on_end, b.error from ended t join body b on b.id = t.id;

-- claimed is a row of what a claim answers: the first has meta alone, each further one a task. Functions of older versions that hand out
-- tasks otherwise had other names, and stay for the programs that call them.
create or replace view claimed as select null::jsonb as meta, f.* from full_task f;

-- hold holds a worker's incarnation by a lock that conflicts with the mark of its death, alone or with others. A lock of the session table,
-- not of the row: beats and claims come all the time, and write nothing for it.
create or replace function hold(of text, only_me boolean) returns boolean language plpgsql as $$
declare
	k constant bigint := hashtextextended(current_schema() || ' ' || of, 7);
begin
	return case when only_me then pg_advisory_xact_lock(k)::text else pg_advisory_xact_lock_shared(k)::text end is not null;
end $$;

-- guard holds it, and returns whether the worker lives: two statements, as one would look before it holds.
create or replace function guard(of text, only_me boolean) returns boolean language plpgsql as $$
declare
	guarded constant boolean := hold(of, only_me);
begin
	return exists (select 1 from worker where id = of and dead_at is null);
end $$;

-- lock_line keeps an ordered lane to one claim at a time; false if another has it and it is not to be waited for.
create or replace function lock_line(q text, k text, l text, m text, may_wait boolean) returns boolean language plpgsql as $$
declare
	name constant bigint := hashtextextended(concat_ws(chr(1), current_schema(), q, k, l, m), 11);
begin
	if not may_wait then
		return pg_try_advisory_xact_lock(name);
	end if;
	perform pg_advisory_xact_lock(name);
	return true;
end $$;

-- is_broken reports whether a task fails because one before it in its ordered lane did.
create or replace function is_broken(t task) returns boolean language plpgsql stable as $$
begin
	return t.ord = 'fail' and exists (
		select 1 from ended e
		where e.queue = t.queue and e.kind = t.kind and e.lane = t.lane and e.lim = t.lim and e.ord = 'fail' and e.state = 'failed' and e.reason <> 'order'
			and e.ended_at >= t.created_at and e.id < t.id);
end $$;

-- fit ends what must not run: an unreadable record, a member of an aborted group, a task that was not started in time, one whose lane has
-- failed. The task is locked. It returns whether it may run.
create or replace function fit(t task, is_good boolean, now bigint) returns boolean language plpgsql as $$
declare
	why text;
begin
	if not is_good then
		perform end_task(t, 'failed', 'corrupt', null, fault('corrupt', 'the record cannot be read'), now);
		return false;
	end if;
	if t.grp is not null and t.asked = '' then
		select aborting into why from grp where id = t.grp;
		if why <> '' then
			perform ask(t, why, now);
			return false;
		end if;
	end if;
	if t.start_by_at <= now then
		perform expire_start(t, now);
		return false;
	end if;
	if t.ord = 'fail' and t.asked = '' and is_broken(t) then
		if t.owned then
			perform ask(t, 'order', now);
		else
			perform end_task(t, 'failed', 'order', null, fault('order', 'a task before it in its lane failed'), now);
		end if;
		return false;
	end if;
	return true;
end $$;

-- expire_start ends a task that was not started in time.
create or replace function expire_start(t task, now bigint) returns void language plpgsql as $$
begin
	t.start_by_at := null;
	if t.owned then
		update task set start_by_at = null where id = t.id;
	end if;
	perform ask(t, 'expired', now);
end $$;

-- prepare_runs charges the limits of n tasks that are about to run for a worker, and ends the solitude of what it runs. It returns whether what is
-- about to run is alone: one task, and the worker holds no other.
create or replace function prepare_runs(charge uuid[], owner text, n bigint, now bigint) returns boolean language plpgsql as $$
declare
	others uuid[];
begin
	if cardinality(charge) > 0 then
		-- Rates are charged for starts as of now, not as of when room for them was found: no window has more.
		update lim l set tats = (
			select array_agg(greatest(a, now + s * c.n) order by i) from unnest(l.tats, l.steps) with ordinality as r (a, s, i)
		) from (select t.lim, count(*) as n from task t where t.id = any (charge) and not t.charged group by t.lim) c
		where l.key = c.lim and l.is_set and cardinality(l.steps) > 0;
	end if;
	if exists (select 1 from task where state = 'running' and worker = owner and alone) then
		-- What ran alone has company now. One that is being written this moment is waited for only if it matters.
		perform 1 from task where state = 'running' and worker = owner and alone and suspect for update;
		select array_agg(o.id) into others from (
			select id from task where state = 'running' and worker = owner and alone for update skip locked
		) o;
		update task set alone = false where id = any (others);
		return false;
	end if;
	return n = 1 and not exists (select 1 from task where state = 'running' and worker = owner);
end $$;

-- start_runs makes tasks run that are locked and ready, under a new fence, for a worker that is guarded. It returns whether that is one, and the
-- worker holds no other.
create or replace function start_runs(ids uuid[], charge uuid[], owner text, by uuid, now bigint) returns boolean language plpgsql as $$
declare
	lone boolean;
	waits constant text := 'ready'; -- no constant where it is used: rows are found by their ids, never through an index of all that wait
begin
	if cardinality(ids) = 0 then
		return false;
	end if;
	now := clock(); -- what was locked may be younger than this step
	lone := prepare_runs(charge, owner, cardinality(ids), now);
	perform note_moving(ids);
	with started as (
		update task t set
			state = 'running', reason = '', version = t.version + 1, updated_at = now, epoch = t.epoch + 1, nonce = by, worker = owner,
			started_at = now, told = t.asked <> '', alone = lone, saves = 0, start_by_at = null,
			deadline_at = case when t.timeout > 0 then now + t.timeout end, charged = t.charged or t.id = any (charge),
			history = add_event(t.history, now, 'claimed', t.epoch + 1, owner, '')
		where t.id = any (ids) and t.state = waits
		returning t.queue, t.kind, t.ready_at
	)
	insert into stat as m (at, queue, kind, shard, claimed, waited)
	select now - now % 60000000000, queue, kind, shard(current_schema()), count(*), sum(greatest(now - ready_at, 0))
	from started group by queue, kind order by queue, kind
	on conflict (at, queue, kind, shard) do update set claimed = m.claimed + excluded.claimed, waited = m.waited + excluded.waited;
	return lone;
end $$;

-- first_due tells when the first of what waits for a time is due.
create or replace function first_due() returns bigint language plpgsql stable as $$
begin
	return (select t.due_at from task t where t.state in ('scheduled', 'parked') and t.due_at is not null order by t.due_at limit 1);
end $$;

-- next_claim tells in how long it is worth to claim again; 0: at no time that is known. at is when something is due, limited says that lanes
-- have limits; of a queue with few of them all are looked at, of others those count that the claim has met shut.
create or replace function next_claim(req jsonb, now bigint, at bigint, paused boolean, limited boolean, shut text[]) returns bigint language plpgsql as $$
declare
	few constant bigint := 16;
	kinds text[];
	q text;
	opens_at bigint;
	n bigint;
begin
	if limited then
		kinds := sorted_kinds(req->'kinds');
		for q in select e->>'queue' from jsonb_array_elements(req->'queues') e loop
			select count(*), min(l.opens) filter (where l.opens > 0 and not l.is_full and not l.charged) into n, opens_at
			from lanes_after(q, kinds, '', '', '', -1::smallint, few + 1, now) l;
			at := least(at, opens_at);
			if n > few then
				at := least(at, (select min(rates_open(l, now)) from lim l
					where l.key = any (shut) and l.is_set and not (l.most > 0 and l.running >= l.most) and rates_open(l, now) > 0));
			end if;
		end loop;
	end if;
	if paused then
		at := least(at, (select min(until) from pause where until > now));
	end if;
	return case when at is null then 0 else greatest(at - now, 1) end;
end $$;
