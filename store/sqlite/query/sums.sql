-- Counts that are kept, so that nobody has to count.

-- name: minute_add takes a minute, queue and kind, and what to add.
insert into minute (at, queue, kind, submitted, claimed, done, failed, cancelled, retried, crashed, waited, ran)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
on conflict do update set
	submitted = submitted + excluded.submitted, claimed = claimed + excluded.claimed, done = done + excluded.done,
	failed = failed + excluded.failed, cancelled = cancelled + excluded.cancelled, retried = retried + excluded.retried,
	crashed = crashed + excluded.crashed, waited = waited + excluded.waited, ran = ran + excluded.ran;

-- name: minute_list takes from and until; returns the minutes between, oldest first.
select at, queue, kind, submitted, claimed, done, failed, cancelled, retried, crashed, waited, ran
from minute where at >= ?1 and at < ?2 order by at, queue, kind;

-- name: minute_prune takes an instant and a count; removes so many minutes that are older.
delete from minute where (at, queue, kind) in (select at, queue, kind from minute where at < ?1 order by at limit ?2);

-- name: queue_add takes a queue and what to add to its counts.
insert into queue (name, total, ready, scheduled, parked, running) values (?1, ?2, ?3, ?4, ?5, ?6)
on conflict do update set
	total = total + excluded.total, ready = ready + excluded.ready, scheduled = scheduled + excluded.scheduled,
	parked = parked + excluded.parked, running = running + excluded.running;

-- name: queue_drop takes a queue; forgets it if nothing of it is on record.
delete from queue where name = ?1 and total = 0;

-- name: queue_list returns all queues.
select name, total, ready, scheduled, parked, running from queue order by name;

-- name: queue_oldest takes a queue and a count; returns since when its oldest ready task is ready, of so many that it looks at.
select min(since) from (select t.since from lane l join task t on t.lane = l.id where l.queue = ?1 limit ?2);
