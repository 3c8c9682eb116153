-- What reads need besides the tables.

-- queues_of lists the queues that have a task on record, by walking over their names.
create or replace function queues_of() returns table (name text) language sql stable rows 10 as $$
	with recursive ready as (
		(select queue from task where state = 'ready' order by queue limit 1)
		union all
		select n.queue from ready p, lateral (select queue from task where state = 'ready' and queue > p.queue order by queue limit 1) n
	), rest as (
		(select queue from task where state <> 'ready' and state <> 'running' order by queue limit 1)
		union all
		select n.queue from rest p, lateral (select queue from task where state <> 'ready' and state <> 'running' and queue > p.queue order by queue limit 1) n
	), over as (
		(select queue from ended order by queue limit 1)
		union all
		select n.queue from over p, lateral (select queue from ended where queue > p.queue order by queue limit 1) n
	)
	select queue from ready union select queue from rest union select queue from over union select queue from task where state = 'running'
$$;

-- queue_paused tells whether a pause keeps claims from a queue as a whole.
create or replace function queue_paused(q text) returns boolean language sql volatile as $$
	select exists (select 1 from pause p
		where (p.queue = '' or p.queue = q) and p.kind = '' and p.lane = '' and (p.until is null or p.until > clock()))
$$;

-- lane_page returns so many lanes of a queue after a name.
create or replace function lane_page(q text, after text, most bigint) returns table (
	kind text, lane text, lim text, flag smallint, name text, head uuid, priority bigint, rank bigint, turn bigint, ready_at bigint, charged boolean,
	blocked text, is_full boolean, opens bigint
) language sql volatile as $$
	select o.* from lane_place(after) p, lateral lanes_after(q, kinds_of(q), p.kind, p.lane, p.lim, p.flag, most, clock()) o
$$;

-- poll returns what a watcher that cannot listen would have been told. request: queues, worker, tasks. It returns the queues that may
-- have work, when the next task is due, the tasks of the worker that were asked, and the versions of the tasks.
create or replace function poll(req jsonb) returns jsonb language plpgsql as $$
declare
	now constant bigint := clock();
	queues jsonb := '[]';
	ids constant uuid[] := (select array_agg(e::uuid) from jsonb_array_elements_text(req->'tasks') e);
	q text;
begin
	for q in select * from jsonb_array_elements_text(req->'queues') loop
		if exists (select 1 from task where state = 'ready' and queue = q) then
			queues := queues || to_jsonb(q);
		end if;
	end loop;
	return jsonb_build_object('queues', queues,
		'due', (select due_at from task where state in ('scheduled', 'parked') and due_at is not null order by due_at limit 1),
		'asked', (select jsonb_agg(id) from task where state = 'running' and worker = req->>'worker' and asked <> '' and not told),
		'tasks', (select jsonb_object_agg(v.id, v.version) from (
			select id, version from task where id = any (ids)
			union all
			select id, version from ended where id = any (ids)
		) v));
end $$;
