-- The session that vouches for workers.

-- name: vouch takes a key; holds its lock until the session ends.
select pg_advisory_lock($1);

-- name: unvouch takes a key; lets go of its lock.
select pg_advisory_unlock($1);

-- name: tx_limit takes milliseconds; lets a transaction wait no longer than that for its client, unless it waits less already.
select set_config('idle_in_transaction_session_timeout', $1, true) from pg_settings
where name = 'idle_in_transaction_session_timeout' and (setting = '0' or setting::bigint > $1::text::bigint);
