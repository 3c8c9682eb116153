-- Submit of the commonest kind, without a function: tasks that are ready at once and hang on nothing. Each is one statement, planned once
-- for a connection. Both return the id of each task that was stored, not of one whose id is known, and whether anybody follows tasks.

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
	select t.created_at - t.created_at % 60000000000, $12::text, $11::text, pg_backend_pid() % 16, 1 from t
	on conflict (at, queue, kind, shard) do update set submitted = m.submitted + 1
)
select t.id, exists (select 1 from ns.watch where until > t.created_at / 1000000) from t;

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
	select t.created_at - t.created_at % 60000000000, t.queue, t.kind, pg_backend_pid() % 16, count(*) from t group by 1, 2, 3 order by 2, 3
	on conflict (at, queue, kind, shard) do update set submitted = m.submitted + excluded.submitted
)
select t.id, (select exists (select 1 from ns.watch where until > n.now / 1000000) from n) from t;
