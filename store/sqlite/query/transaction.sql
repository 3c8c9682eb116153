-- Transactions. A writer takes the lock at once, since one that began as a reader cannot wait for it.

-- name: begin_immediate begins to write.
begin immediate;

-- name: data_version returns a number that is another one if another connection has written since.
pragma data_version;

-- name: schema returns the number of the last migration.
pragma user_version;

-- name: begin_read begins to read, as of one moment.
begin;

-- name: commit makes what was written durable.
commit;

-- name: rollback forgets what was written.
rollback;
