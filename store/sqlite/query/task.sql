-- Rows of tasks, one at a time. A write names the version it replaces; the writer checks that it met one row.
-- A count that is bound is not the limit by itself, but a sum: by the value of a bare one SQLite plans the statement anew, each time.

-- name: task_get takes an id; returns the task.
select * from record where id = ?1;

-- name: task_insert takes a task and where it stands.
insert into task (
	id, state, version, epoch, queue, kind, created, lim, uniq, parent, grp, place,
	lane, rank, turn, since, wait, start_by, worker, deadline, line, waiting, stage, expire, body, spec, asked
) values (
	?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,
	?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27
);

-- name: task_insert_many is task_insert of sixteen tasks: the indexes are opened once for all of them.
insert into task (
	id, state, version, epoch, queue, kind, created, lim, uniq, parent, grp, place,
	lane, rank, turn, since, wait, start_by, worker, deadline, line, waiting, stage, expire, body, spec, asked
) values
	(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: task_update takes seq, the version that stands, and what changes; keeps what was submitted.
update task set
	state = ?3, version = ?4, epoch = ?5, lane = ?6, rank = ?7, turn = ?8, since = ?9, wait = ?10, start_by = ?11,
	worker = ?12, deadline = ?13, line = ?14, waiting = ?15, stage = ?16, expire = ?17, body = ?18, asked = ?19
where seq = ?1 and version = ?2;

-- name: task_move is task_update of a task that stays where it is in all orders but the lanes, the running and the expiring: it
-- touches fewer indexes.
update task set
	state = ?3, version = ?4, epoch = ?5, lane = ?6, rank = ?7, turn = ?8, since = ?9, worker = ?10, deadline = ?11, expire = ?12,
	body = ?13
where seq = ?1 and version = ?2;

-- name: task_take is task_move of a task whose expiry stays: a claim.
update task set
	state = ?3, version = ?4, epoch = ?5, lane = ?6, rank = ?7, turn = ?8, since = ?9, worker = ?10, deadline = ?11, body = ?12
where seq = ?1 and version = ?2;

-- name: task_end is task_move of a task that is not in a lane, before and after: the end of a run.
update task set state = ?3, version = ?4, epoch = ?5, worker = ?6, deadline = ?7, expire = ?8, body = ?9
where seq = ?1 and version = ?2;

-- name: task_touch is task_move of a task that stays where it is.
update task set version = ?3, epoch = ?4, body = ?5
where seq = ?1 and version = ?2;

-- name: task_strip takes seq and what is left of the spec of a task that ended.
update task set spec = ?2 where seq = ?1 and state in (6, 8);

-- name: task_reseal takes seq, version and spec of a task whose args were sealed anew.
update task set spec = ?3 where seq = ?1 and version = ?2;

-- name: task_delete takes seq of a task that ended.
delete from task where seq = ?1 and state in (6, 7, 8);

-- name: task_due takes now and a count; returns the first whose time has come.
select * from record where wait <= ?1 order by wait, id limit ?2 + 0;

-- name: task_next_due returns when the next one is due, and its id.
select wait, id from task where wait is not null order by wait, id limit 1;

-- name: task_late takes now; returns the first that was not started in time.
select * from record where start_by <= ?1 order by start_by, id limit 1;

-- name: task_overdue takes an instant; returns the first whose attempt should have ended by then.
select * from record where deadline <= ?1 order by deadline, id limit 1;

-- name: task_expired takes now; returns the first that may be removed.
select * from record where expire <= ?1 order by expire, id limit 1;

-- name: task_ahead takes a lane and a count; returns its first tasks.
select * from record where lane = ?1 order by rank, turn, id limit ?2 + 0;

-- name: task_held takes a worker and a count; returns what it holds, by id.
select * from record where worker = ?1 order by id limit ?2 + 0;

-- name: task_asked takes a worker; returns what it holds and what may have been asked to end, by id.
select * from record where seq in (select seq from task where worker = ?1 and asked is not null) order by id;

-- name: task_held_count takes a worker; returns how many tasks it holds.
select count(*) from task where worker = ?1;

-- name: task_holder_after takes a worker; returns the next one, by name, that holds something.
select worker from task where worker > ?1 order by worker limit 1;

-- name: task_line_head takes a line; returns the id of its first task.
select id from task where line = ?1 order by id limit 1;

-- name: task_line_running takes a line; returns whether one of it runs.
select exists (select 1 from task indexed by task_in_line where line = ?1 and worker is not null);

-- name: task_waiting takes a group and a count; returns its first members that wait for it to open.
select * from record where waiting = ?1 order by id limit ?2 + 0;

-- name: task_staged takes a group, a stage and a count; returns its first members in that stage.
select * from record where grp = ?1 and stage = ?2 order by id limit ?3 + 0;

-- name: task_all returns all tasks.
select * from record order by seq;
