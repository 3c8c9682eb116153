-- The session that vouches for workers.

-- name: vouch takes a key; holds its lock until the session ends.
select pg_advisory_lock($1);

-- name: unvouch takes a key; lets go of its lock.
select pg_advisory_unlock($1);

-- name: tx_limit takes milliseconds; lets a transaction wait no longer than that for its client, unless it waits less already.
select set_config('idle_in_transaction_session_timeout', $1, true) from pg_settings
where name = 'idle_in_transaction_session_timeout' and (setting = '0' or setting::bigint > $1::text::bigint);

-- name: vacuum_gate takes nanoseconds; returns whether nobody has cleaned up for so long.
with gate as (
	update ns.fleet set vacuum_at = ns.clock() where vacuum_at > ns.clock() or ns.clock() - vacuum_at >= $1 returning 1
) select exists (select 1 from gate);

-- name: vacuum cleans up; it does not wait for another that does.
vacuum (skip_locked, truncate off) ns.task;
