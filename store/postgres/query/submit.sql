-- Submit of the commonest kind, without a function: tasks that are ready at once and hang on nothing. Each is one statement, planned once
-- for a connection. The first and the last return the id of each task that was stored, not of one whose id is known, and whether anybody follows tasks.

-- name: submit_ready takes what one task is made of. A lone task costs its rows and little else.
with n as materialized (
	select ns.clock() as now
), b as (
	insert into ns.body (id, rest, args, labels, retry_max, retry_base, retry_factor, retry_cap, crash_spends)
	values ($1::uuid, $2::bytea, $3::bytea, $4::text::jsonb, $5::bigint, $6::bigint, $7::float8, $8::bigint, $9::boolean)
	on conflict do nothing
	returning id
), t as (
	insert into ns.task (id, state, created_at, updated_at, due_at, ready_at, start_by_at, kind, queue, lane, lim, flag, ord, priority, rank, turn,
		timeout, owned, line, parent, ukey, ufor, fingerprint, retention, follows)
	select b.id, 'ready', n.now, n.now, n.now, n.now, n.now + $10::bigint, $11::text, $12::text, $13::text, $14::text, $15::smallint, $16::text,
		$17::bigint, $18::bigint, case when $15::smallint = 0 then n.now else 0 end, $19::bigint, $20::boolean, $21::bigint, $22::uuid, '', 0,
		$23::text, $24::bigint, false
	from b, n
	returning id, created_at
), counted as (
	insert into ns.stat as m (at, queue, kind, shard, submitted)
	select t.created_at - t.created_at % 60000000000, $12::text, $11::text, ns.shard(':name'), 1 from t
	on conflict (at, queue, kind, shard) do update set submitted = m.submitted + 1
)
select t.id, exists (select 1 from ns.watch where until > t.created_at / 1000000) from t;

-- name: hold_worker holds a worker, alone, until the transaction ends: the lock of the function hold, which finds the schema by the path.
select pg_advisory_xact_lock(hashtextextended(':name ' || $1::text, 7));

-- name: submit_running takes what one task is made of, but for when it must have started, and by whom and under which nonce it is claimed. It returns the task, and whether anybody
-- follows tasks; nothing, if its id is known, its worker is dead or holds another, or anything is paused.
with n as materialized (
	select ns.clock() as now
	where exists (select 1 from ns.worker w where w.id = $24::text and w.dead_at is null)
		and not exists (select 1 from ns.task o where o.state = 'running' and o.worker = $24::text)
		and not exists (select 1 from ns.pause)
), b as (
	insert into ns.body (id, rest, args, labels, retry_max, retry_base, retry_factor, retry_cap, crash_spends)
	select $1::uuid, $2::bytea, $3::bytea, $4::text::jsonb, $5::bigint, $6::bigint, $7::float8, $8::bigint, $9::boolean from n
	on conflict do nothing
	returning id, rest, args, labels, on_end, error
), t as (
	insert into ns.task (id, state, version, epoch, nonce, worker, alone, created_at, updated_at, due_at, ready_at, started_at, deadline_at, history,
		kind, queue, lane, lim, flag, ord, priority, rank, turn, timeout, owned, line, parent, ukey, ufor, fingerprint, retention, follows)
	select b.id, 'running', 2, 1, $25::uuid, $24::text, true, n.now, n.now, n.now, n.now, n.now, case when $18::bigint > 0 then n.now + $18::bigint end,
		ns.add_event('[]', n.now, 'claimed', 1, $24::text, ''), $10::text, $11::text, $12::text, $13::text, $14::smallint, $15::text,
		$16::bigint, $17::bigint, n.now, $18::bigint, $19::boolean, $20::bigint, $21::uuid, '', 0, $22::text, $23::bigint, false
	from b, n
	returning *
), counted as (
	insert into ns.stat as m (at, queue, kind, shard, submitted, claimed)
	select t.created_at - t.created_at % 60000000000, $11::text, $10::text, ns.shard(':name'), 1, 1 from t
	on conflict (at, queue, kind, shard) do update set submitted = m.submitted + 1, claimed = m.claimed + 1
)
select exists (select 1 from ns.watch where until > c.created_at / 1000000), :given from (select t.*, b.rest, b.args, b.labels, b.on_end, b.error from t, b) c;

-- name: submit_ready_many takes the same as arrays; no id comes twice. They are stored in the order of ids, as others do.
with n as materialized (
	select ns.clock() as now
), s as materialized (
	select * from unnest($1::uuid[], $2::bytea[], $3::bytea[], $4::text[], $5::bigint[], $6::bigint[], $7::float8[], $8::bigint[], $9::boolean[], $10::bigint[],
		$11::text[], $12::text[], $13::text[], $14::text[], $15::smallint[], $16::text[], $17::bigint[], $18::bigint[], $19::bigint[], $20::boolean[],
		$21::bigint[], $22::uuid[], $23::text[], $24::bigint[]) as x (id, rest, args, labels, retry_max, retry_base, retry_factor, retry_cap, crash_spends,
		start_by, kind, queue, lane, lim, flag, ord, priority, rank, timeout, owned, line, parent, fingerprint, retention)
	order by x.id
), b as (
	insert into ns.body (id, rest, args, labels, retry_max, retry_base, retry_factor, retry_cap, crash_spends)
	select id, rest, args, labels::jsonb, retry_max, retry_base, retry_factor, retry_cap, crash_spends from s
	on conflict do nothing
	returning id
), t as (
	insert into ns.task (id, state, created_at, updated_at, due_at, ready_at, start_by_at, kind, queue, lane, lim, flag, ord, priority, rank, turn,
		timeout, owned, line, parent, ukey, ufor, fingerprint, retention, follows)
	select s.id, 'ready', n.now, n.now, n.now, n.now, n.now + s.start_by, s.kind, s.queue, s.lane, s.lim, s.flag, s.ord, s.priority, s.rank,
		case when s.flag = 0 then n.now else 0 end, s.timeout, s.owned, s.line, s.parent, '', 0, s.fingerprint, s.retention, false
	from n, s join b using (id)
	returning id, created_at, queue, kind
), counted as (
	insert into ns.stat as m (at, queue, kind, shard, submitted)
	select t.created_at - t.created_at % 60000000000, t.queue, t.kind, ns.shard(':name'), count(*) from t group by 1, 2, 3 order by 2, 3
	on conflict (at, queue, kind, shard) do update set submitted = m.submitted + excluded.submitted
)
select t.id, (select exists (select 1 from ns.watch where until > n.now / 1000000) from n) from t;
