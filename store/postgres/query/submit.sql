-- Submit of the commonest kind, without a function.

-- name: submit_ready takes what a task is made of that is ready at once and hangs on nothing; returns whether anybody follows tasks, or
-- no row if the id is known. It is one statement, planned once for a connection: a lone task costs its rows and little else.
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
	returning created_at
), counted as (
	insert into ns.stat as m (at, queue, kind, shard, submitted)
	select t.created_at - t.created_at % 60000000000, $12::text, $11::text, pg_backend_pid() % 16, 1 from t
	on conflict (at, queue, kind, shard) do update set submitted = m.submitted + 1
)
select exists (select 1 from ns.watch where until > t.created_at / 1000000) from t;
