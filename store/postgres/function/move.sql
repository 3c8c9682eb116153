-- Every change of state goes through here, so that state, owner, slot and counts never disagree.

-- give_slot takes a task's slot back, and tells who may want it. In a call of many it is noted until give_noted.
create or replace function give_slot(t task) returns void language plpgsql as $$
begin
	if t.ord <> '' then
		perform note_work(t.queue);
	end if;
	if t.lim = '' then
		return;
	end if;
	if current_setting('outlast.many', true) = 'true' then
		perform set_config('outlast.slots', concat(current_setting('outlast.slots', true), t.lim, chr(1)), true);
	else
		perform give_slots(t.lim, 1);
	end if;
end $$;

create or replace function give_slots(name text, many bigint) returns void language plpgsql as $$
declare
	l lim;
begin
	update lim set running = running - many where key = name returning * into l;
	if l.is_set then
		perform note_all();
	elsif l.running <= 0 then
		delete from lim where key = name and not is_set and running <= 0;
	end if;
end $$;

-- note_slots makes give_slot note what it takes back, and give_noted does so: each limit is written once, and locked no longer than it must be, as
-- the calls beside this one write it, too. Nothing between them looks at limits.
create or replace function note_slots() returns text language sql volatile as $$
	select set_config('outlast.many', 'true', true)
$$;

create or replace function give_noted() returns void language plpgsql as $$
declare
	noted constant text := coalesce(current_setting('outlast.slots', true), '');
begin
	perform set_config('outlast.many', '', true), set_config('outlast.slots', '', true);
	if noted <> '' then
		perform give_slots(s.name, s.many) from (
			select x.name, count(*) as many from unnest(string_to_array(rtrim(noted, chr(1)), chr(1))) x (name) group by x.name order by x.name
		) s;
	end if;
end $$;

-- leave_place takes a task out of where its state has put it. Leaving running frees the slot and ends the ownership.
create or replace function leave_place(inout t task) language plpgsql as $$
begin
	if t.state = 'running' then
		perform give_slot(t);
		t.worker := '';
		t.nonce := null;
		t.staged := null;
		t.deadline_at := null;
		t.alone := false;
	elsif t.state = 'held' and t.reason = 'group' then
		update grp set waiting = waiting - 1 where id = t.grp;
	end if;
end $$;

-- touch notes that a record has changed.
create or replace function touch(inout t task, now bigint) language plpgsql as $$
begin
	t.version := t.version + 1;
	t.updated_at := now;
	perform note_task(t.id);
end $$;

-- move takes a live task to another live state, and writes it.
create or replace function move(inout t task, place text, now bigint) language plpgsql as $$
begin
	now := clock(); -- a step that waited for a lock began before what it found there
	t := leave_place(t);
	t.state := place;
	if place <> 'held' then
		t.reason := '';
	end if;
	t := touch(t, now);
	if place = 'ready' then
		t.ready_at := now;
		t.flag := lane_flag(t.ord, t.suspect);
		t.turn := case when t.ord = '' then coalesce(t.due_at, now) else 0 end;
		perform note_work(t.queue);
	elsif place = 'held' then
		if t.reason = 'group' then
			update grp set waiting = waiting + 1 where id = t.grp;
		end if;
	elsif t.due_at is not null and not exists (
		select 1 from task o where o.state in ('scheduled', 'parked') and o.due_at is not null and o.due_at < t.due_at
	) then
		perform note_work(t.queue); -- who waits for the next due time must hear of one that is sooner
	end if;
	perform put(t);
end $$;

-- make_ready makes a task ready that waits no longer for anything.
create or replace function make_ready(inout t task, now bigint) language plpgsql as $$
begin
	t.due_at := now;
	t := move(t, 'ready', now);
end $$;

-- wait_for makes a task due after a while.
create or replace function wait_for(inout t task, delay bigint, now bigint) language plpgsql as $$
begin
	if delay <= 0 then
		t := make_ready(t, now);
		return;
	end if;
	t.due_at := now + delay;
	t := move(t, 'scheduled', now);
end $$;

-- wake bumps the count of wakes, and makes a parked task ready. One that has ended stays as it is.
create or replace function wake(of uuid, now bigint) returns void language plpgsql as $$
declare
	t task;
begin
	if of is null then
		return;
	end if;
	select * into t from task where id = of for update;
	if not found then
		return;
	end if;
	t.wakes := t.wakes + 1;
	if t.state = 'parked' then
		perform make_ready(t, now);
		return;
	end if;
	t := touch(t, now);
	perform put(t);
end $$;

-- ask wants a task to end from outside: one that waits ends, one that runs is asked, an owned one is made ready to end itself.
create or replace function ask(t task, why text, now bigint) returns void language plpgsql as $$
begin
	if t.state <> 'running' and not t.owned then
		perform end_task(t, 'cancelled', why, null, null, now);
	elsif t.asked = '' then
		t.asked := why;
		t.told := false;
		t.wakes := t.wakes + 1;
		t.history := add_event(t.history, now, 'asked', t.epoch, t.worker, why);
		if t.state <> 'running' then
			perform make_ready(t, now);
			return;
		end if;
		t := touch(t, now);
		perform note_asked(t.id, t.worker);
		perform put(t);
	end if;
end $$;

-- heed lets the abort of its group ask a task, also before Promote has come to it.
create or replace function heed(inout t task) language plpgsql as $$
declare
	why text;
begin
	if t.grp is null or t.asked <> '' then
		return;
	end if;
	select aborting into why from grp where id = t.grp;
	if why <> '' then
		t.asked := why;
		t.told := false;
	end if;
end $$;

-- overruled tells whether a request turns a step out of running into something else.
create or replace function overruled(t task) returns boolean language sql immutable as $$
	select t.asked <> '' and (not t.told or not t.owned)
$$;
