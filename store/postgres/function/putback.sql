-- put_back takes a task from a worker that is dead or has left. It returns what became of it.
create or replace function put_back(t task, w worker, blind boolean, now bigint) returns jsonb language plpgsql as $$
declare
	crash boolean := false;
	settled boolean := false;
begin
	if t.staged is not null then
		settled := true;
		perform settle(t, t.staged, t.staged->>'kind', now);
	elsif not is_readable(t.id) then
		perform end_task(t, 'failed', 'corrupt', null, fault('corrupt', 'the record cannot be read'), now);
	else
		crash := w.death in ('proof', 'gone') or w.death = 'silence' and (blind or coalesce(w.evidence = 'none', false));
		perform take_back(t, w, crash, now);
	end if;
	return told(t, w.id, w.death, crash, settled);
end $$;

-- told is a recovered task as the answer tells it.
create or replace function told(t task, of text, death text, crash boolean, settled boolean) returns jsonb language sql volatile as $$
	select jsonb_build_object('id', t.id, 'kind', t.kind, 'queue', t.queue, 'worker', of, 'death', death, 'crash', crash, 'settled', settled,
		'state', s.state, 'reason', s.reason)
	from (select state, reason from task where id = t.id union all select state, reason from ended where id = t.id) s
$$;

-- take_back decides what becomes of a task whose run was cut short.
create or replace function take_back(t task, w worker, crash boolean, now bigint) returns void language plpgsql as $$
declare
	was_suspect constant boolean := t.suspect;
	lone boolean;
	spends boolean;
begin
	if crash then
		t.crashes := t.crashes + 1;
		t.crash_run := t.crash_run + 1;
		t := judge(t);
		t.history := add_event(t.history, now, 'crashed', t.epoch, t.worker, w.death);
		perform count_up(t.queue, t.kind, now, 'crashed');
	else
		t.history := add_event(t.history, now, 'recovered', t.epoch, t.worker, w.death);
	end if;
	t := heed(t);
	lone := crash and was_suspect and t.alone and w.held_at <= 1;
	if crash then
		select crash_spends into spends from body where id = t.id;
	end if;
	if overruled(t) then
		if t.owned then
			perform make_ready(t, now);
		else
			perform end_task(t, 'cancelled', t.asked, null, null, now);
		end if;
	elsif lone and t.owned then
		t := set_error(t, fault('crashed', 'its worker died while it ran'));
		t.reason := 'crashed';
		t.history := add_event(t.history, now, 'held', t.epoch, t.worker, 'crashed');
		perform move(t, 'held', now);
	elsif lone then
		perform end_task(t, 'failed', 'crashed', null, fault('crashed', 'its worker died while it ran'), now);
	elsif spends then
		perform spend(t, fault('crashed', 'its worker died while it ran'), now);
	else
		t.solo := t.solo or crash and was_suspect;
		perform move(t, 'ready', now);
	end if;
end $$;

-- spend counts a failed attempt that no handler told of.
create or replace function spend(t task, e bytea, now bigint) returns void language plpgsql as $$
declare
	r record;
	factor float8;
	most float8;
begin
	t.attempts := t.attempts + 1;
	t.charged := false;
	t := set_error(t, e);
	select retry_max, retry_base, retry_factor, retry_cap into r from body where id = t.id;
	if t.attempts < greatest(r.retry_max, 1) then
		factor := case when r.retry_factor < 1 then 2 else r.retry_factor end;
		most := case when r.retry_cap > 0 then r.retry_cap else 4611686018427387904 end;
		-- ln bounds the power, which would overflow.
		perform wait_for(t, case when r.retry_base <= 0 then 0
			when ln(r.retry_base::float8) + (t.attempts - 1) * ln(factor) >= ln(most) then most::bigint
			else least(r.retry_base * power(factor, t.attempts - 1), most)::bigint end, now);
	elsif t.owned then
		t.reason := 'attempts';
		t.history := add_event(t.history, now, 'held', t.epoch, t.worker, 'attempts');
		perform move(t, 'held', now);
	else
		perform end_task(t, 'failed', 'attempts', null, e, now);
	end if;
end $$;

-- take_stuck takes a task from a living owner that is long past the deadline of its attempt.
create or replace function take_stuck(t task, now bigint) returns jsonb language plpgsql as $$
declare
	settled boolean := false;
begin
	if t.staged is not null then
		settled := true;
		perform settle(t, t.staged, t.staged->>'kind', now);
	elsif not is_readable(t.id) then
		perform end_task(t, 'failed', 'corrupt', null, fault('corrupt', 'the record cannot be read'), now);
	else
		t := heed(t);
		if overruled(t) and not t.owned then
			perform end_task(t, 'cancelled', t.asked, null, null, now);
		else
			t.history := add_event(t.history, now, 'recovered', t.epoch, t.worker, 'stuck');
			perform spend(t, fault('stuck', 'it did not end in its time, and its owner did not say why'), now);
		end if;
	end if;
	return told(t, t.worker, '', false, settled);
end $$;
