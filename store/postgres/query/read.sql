-- Reads. Each is one statement, and sees the store as of one moment.

-- name: now returns the store's clock.
select ns.clock();

-- name: examine returns what the server is: version, its number, whether it is a replica or read-only, whether commits are synced.
select current_setting('server_version'), current_setting('server_version_num')::int, pg_is_in_recovery(),
	current_setting('default_transaction_read_only') = 'on', current_setting('fsync');

-- name: session_pid returns which of the server's processes answers.
select pg_backend_pid();

-- name: task_get takes an id; returns the task.
select :task from ns.full_task f where f.id = $1::text::uuid;

-- name: load takes a task; returns whether it was stripped, and its entries; one row without an entry if it has none.
select t.stripped, e.name, e.value
from (select id, stripped from ns.task where id = $1::text::uuid union all select id, stripped from ns.ended where id = $1::text::uuid) t
left join ns.entry e on e.task = t.id;

-- name: messages takes a task; returns those that were not consumed, in the order of coming; one row without a message if there is none.
select s.id, m.id, m.name, m.body, m.sent_at from ns.standing s left join ns.message m on m.task = s.id and m.pos is not null
where s.id = $1::text::uuid order by m.pos;

-- name: message_all returns all messages that were not consumed.
select task, id, name, body, sent_at from ns.message where pos is not null order by task, pos;

-- name: task_all returns all tasks.
select :task from ns.full_task f;

-- name: brief_all returns all tasks without args, result and history.
select :brief from ns.full_task f;

-- name: task_page returns the tasks of a page; :page is a statement that picks their records. The offset has bodies searched by their ids, one after
-- the other: a plan that is kept may be of a time when all of them together were few.
select :task from (
	select t.*, b.rest, b.args, b.labels, b.on_end, b.error
	from (:page) t cross join lateral (select rest, args, labels, on_end, error from ns.body where id = t.id offset 0) b
) f;

-- name: brief_page returns them without args, result and history.
select :brief from (
	select t.*, b.rest, b.args, b.labels, b.on_end, b.error
	from (:page) t cross join lateral (select rest, args, labels, on_end, error from ns.body where id = t.id offset 0) b
) f;

-- name: pick_live returns the records of tasks that have not ended.
select f.* from ns.task f;

-- name: pick_ended returns those of tasks that have.
select f.* from ns.ended f;

-- name: key_all returns the unique keys that are held.
select kind, key, task, until from ns.key where until is null or until > ns.clock() order by kind, key;

-- name: group_get takes an id; returns the group.
select id, name, hold, seal, parent, on_close, labels, kept, state, sealed, aborting, generation, version,
	total, done, failed, cancelled, keeper, created_at, closed_at, updated_at
from ns.grp where id = $1::text::uuid;

-- name: group_page takes an id and a count; returns so many groups before that id, newest first.
select id, name, hold, seal, parent, on_close, labels, kept, state, sealed, aborting, generation, version,
	total, done, failed, cancelled, keeper, created_at, closed_at, updated_at
from ns.grp where id < $1::text::uuid order by id desc limit $2;

-- name: group_all returns all groups.
select id, name, hold, seal, parent, on_close, labels, kept, state, sealed, aborting, generation, version,
	total, done, failed, cancelled, keeper, created_at, closed_at, updated_at
from ns.grp;

-- name: worker_all returns all workers by id.
select to_jsonb(w) from ns.worker_list w order by w.id;

-- name: holds takes a worker; returns what it holds, by id.
select id, epoch, nonce, kind, asked from ns.task where state = 'running' and worker = $1 order by id;

-- name: limit_all returns the limits that are set, and their use.
select key, most, rates, running, greatest(ns.rates_open(l, c.now) - c.now, 0), declared
from ns.lim l, (select ns.clock() as now) c where is_set order by key;

-- name: limit_list takes keys, or none; returns the limits that are set, of these or of all, and their use, by key.
select key, most, rates, running, greatest(ns.rates_open(l, c.now) - c.now, 0), declared
from ns.lim l, (select ns.clock() as now) c where is_set and (cardinality($1::text[]) = 0 or key = any ($1)) order by key;

-- name: pause_list returns the pauses that stand.
select queue, kind, lane, reason, at, until from ns.pause where until is null or until > ns.clock() order by queue, kind, lane;

-- name: lane_list takes a queue, a name, a count and where counting stops; returns so many lanes after that name.
select l.kind, l.lane, l.lim, l.flag, l.name, l.priority, l.ready_at, l.blocked, ns.weight_of($1, l.lane),
	(select count(*) from (select 1 from ns.task t where t.state = 'ready' and t.queue = $1 and t.kind = l.kind and t.lane = l.lane and t.lim = l.lim
		and t.flag = l.flag order by t.rank, t.turn, t.id limit $4) x)
from ns.lane_page($1, $2, $3) l order by l.name;

-- name: queue_list takes where counting stops; returns the queues that have a task on record, and counts. The orders are those of indexes: a
-- server that thinks it will soon have counted enough would rather go through the whole table. What runs is counted for all queues at once.
with runs as materialized (select queue, count(*) as n from ns.task where state = 'running' group by queue)
select q.name, r.n, s.n, p.n, g.n, r.at, ns.queue_paused(q.name)
from ns.queues_of() q,
	lateral (
		-- What is counted is found in the index alone; when those became ready is read of the ones that were due first, and of the first of ordered lanes.
		with few as materialized (select id, turn from ns.task where queue = q.name and state = 'ready' order by kind, lane, lim, flag, rank, turn, id limit $1)
		select (select count(*) from few) as n, min(t.ready_at) as at from ns.task t
		where t.id = any (array(select id from few where turn > 0 order by turn limit 100)) or t.id = any (array(select id from few where turn = 0 order by id limit 100))
	) r,
	lateral (select count(*) as n from (select 1 from ns.task where queue = q.name and state = 'scheduled' order by id limit $1) x) s,
	lateral (select count(*) as n from (select 1 from ns.task where queue = q.name and state = 'parked' order by id limit $1) x) p,
	lateral (select coalesce(max(least(x.n, $1)), 0) as n from runs x where x.queue = q.name) g
order by q.name;

-- name: stat_list takes from and until; returns the minutes between, oldest first.
select at, queue, kind, sum(submitted)::bigint, sum(claimed)::bigint, sum(done)::bigint, sum(failed)::bigint, sum(cancelled)::bigint,
	sum(retried)::bigint, sum(crashed)::bigint, sum(waited)::bigint, sum(ran)::bigint
from ns.stat where at >= $1 and at < $2 group by at, queue, kind order by at, queue, kind;

-- name: schedule_get takes a name; returns the schedule.
select name, rule, zone, catch_up, overlap, jitter, paused, declared, task, version, last_tick, next_at, last_task, created_at, updated_at
from ns.schedule where name = $1;

-- name: schedule_page takes a name and a count; returns so many after that name.
select name, rule, zone, catch_up, overlap, jitter, paused, declared, task, version, last_tick, next_at, last_task, created_at, updated_at
from ns.schedule where name > $1 order by name limit $2;

-- name: schedule_all returns all schedules.
select name, rule, zone, catch_up, overlap, jitter, paused, declared, task, version, last_tick, next_at, last_task, created_at, updated_at
from ns.schedule order by name;

-- name: schedule_delete takes a name.
delete from ns.schedule where name = $1;

-- name: schedule_due takes a count; returns those whose time has come, soonest first.
select name, rule, zone, catch_up, overlap, jitter, paused, declared, task, version, last_tick, next_at, last_task, created_at, updated_at
from ns.schedule where not paused and next_at is not null and next_at <= ns.clock() order by next_at, name limit $1;

-- name: schedule_next returns in how long the next one comes; 0 if none does.
select coalesce((select next_at - ns.clock() from ns.schedule where not paused and next_at is not null order by next_at limit 1), 0)::bigint;

-- name: notify takes a channel and a text; tells all who listen.
select pg_notify($1, $2);

-- name: follow takes a handle; says for a minute that it follows tasks.
insert into ns.watch (handle, until) values ($1, (extract(epoch from clock_timestamp()) * 1000)::bigint + 60000)
on conflict (handle) do update set until = excluded.until;

-- name: unfollow takes a handle that is closed; forgets it, and those that were forgotten.
delete from ns.watch where handle = $1 or until < (extract(epoch from clock_timestamp()) * 1000)::bigint;

-- name: poll takes queues, a worker and tasks as JSON; returns what a watcher would have been told.
select ns.poll($1::text::jsonb);

-- name: settings returns the settings of the server that decide what survives and who is cut off, and how many connections there are.
select name, setting from pg_settings
where name in ('fsync', 'full_page_writes', 'synchronous_commit', 'idle_session_timeout', 'idle_in_transaction_session_timeout',
	'statement_timeout', 'lock_timeout', 'tcp_keepalives_idle', 'max_connections', 'synchronous_standby_names', 'autovacuum')
union all
select 'connections', count(*)::text from pg_stat_activity where backend_type = 'client backend'
union all
select 'standbys', count(*)::text from pg_stat_replication;
