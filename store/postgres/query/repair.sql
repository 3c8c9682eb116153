-- What is derived of the records of tasks, counted anew. Each repair is one transaction: what is mended is locked first, and counted then, so that
-- whoever changes it meanwhile comes before or after.

-- name: repair_path lets functions find each other.
set local search_path to :schema, pg_temp;

-- name: repair_begin takes a request, of which only the horizon counts; returns now.
select begin_step($1::text::jsonb);

-- name: repair_lock_limit takes a limit key; returns its count.
select running from ns.lim where key = $1 for update;

-- name: repair_slots takes a limit key; returns how many tasks of it run.
select count(*) from ns.task where state = 'running' and lim = $1;

-- name: repair_limit takes a limit key and its count.
insert into ns.lim (key, running) values ($1, $2) on conflict (key) do update set running = excluded.running;

-- name: repair_no_limit takes a limit key; removes a count that nobody needs.
delete from ns.lim where key = $1 and not is_set and running <= 0;

-- name: repair_lock_task takes a task that lives; keeps it from ending.
select true from ns.task where id = $1 for update;

-- name: repair_lock_key takes kind and key; returns who holds it, and until when.
select task, until is not null from ns.key where kind = $1 and key = $2 for update;

-- name: repair_holder takes a task; returns what decides whether it may hold a key.
select kind, ukey, ufor, state, reason from ns.task where id = $1 union all select kind, ukey, ufor, state, reason from ns.ended where id = $1;

-- name: repair_drop_key takes kind and key.
delete from ns.key where kind = $1 and key = $2;

-- name: repair_put_key takes kind, key and task. If somebody took it meanwhile, it is theirs.
insert into ns.key (kind, key, task) values ($1, $2, $3) on conflict do nothing;

-- name: repair_lock_group takes a group; returns what it counts.
select total, done, failed, cancelled, members, living, ended, waiting, state from ns.grp where id = $1 for update;

-- name: repair_members takes a group; returns how many of its members are done, failed and cancelled, live, are on record, and in which stage.
select count(*) filter (where state = 'done'), count(*) filter (where state = 'failed'), count(*) filter (where state = 'cancelled'),
	count(*) filter (where state not in ('done', 'failed', 'cancelled')), count(*), count(*) filter (where stage = 1),
	count(*) filter (where stage = 3), count(*) filter (where state = 'held' and reason = 'group')
from (select state, stage, reason from ns.task where grp = $1 union all select state, stage, reason from ns.ended where grp = $1) m;

-- name: repair_group takes a group and its counts.
update ns.grp set total = $2, done = $3, failed = $4, cancelled = $5, members = $6, living = $7, ended = $8, waiting = $9 where id = $1;

-- name: repair_settle takes a group and now; closes it if nobody lives.
select settle_group(g, $2) from ns.grp g where id = $1;

-- name: repair_tell notes that any queue may have claimable work.
select note_all();

-- name: repair_hints returns what watchers are to be told.
select hints();
