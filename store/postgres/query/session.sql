-- The session that vouches for workers.

-- name: vouch takes a key; holds its lock until the session ends.
select pg_advisory_lock($1);

-- name: unvouch takes a key; lets go of its lock.
select pg_advisory_unlock($1);
