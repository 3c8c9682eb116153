-- Rows of tasks, one at a time. A write names the version it replaces; the writer checks that it met one row.
-- A count that is bound is not the limit by itself, but a sum: by the value of a bare one SQLite plans the statement anew, each time.

-- name: task_get takes an id; returns the task.
select * from record where id = ?1;

-- name: task_between takes two ids; returns whether there is a task from the one to the other.
select exists (select 1 from task where id between ?1 and ?2);

-- name: task_insert takes a task and where it stands.
insert into task (
	id, state, version, epoch, queue, kind, created, lim, uniq, parent, grp, place,
	lane, rank, turn, since, wait, start_by, worker, deadline, line, waiting, stage, expire, body, spec, asked
) values (
	?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,
	?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27
);

-- name: task_insert_many is task_insert of sixteen tasks: the indexes are opened once for all of them. What it leaves behind if it fails goes with
-- the transaction, so SQLite need not keep the pages as they were before it.
insert or fail into task (
	seq, id, state, version, epoch, queue, kind, created, lim, uniq, parent, grp, place,
	lane, rank, turn, since, wait, start_by, worker, deadline, line, waiting, stage, expire, body, spec, asked
) values
	(null, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(null, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(null, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(null, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(null, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(null, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(null, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(null, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(null, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(null, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(null, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(null, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(null, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(null, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(null, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),
	(null, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: task_insert_ready is task_insert_many of tasks that have just become ready in one lane: queue, kind, the time, limit key and lane are told
-- once, then of each its id, line, rank, turn, body and spec.
insert or fail into task (
	seq, id, state, version, epoch, queue, kind, created, lim, uniq, parent, grp, place,
	lane, rank, turn, since, wait, start_by, worker, deadline, line, waiting, stage, expire, body, spec, asked
) values
	(null, ?6, 2, 1, 0, ?1, ?2, ?3, ?4, null, null, null, ?7, ?5, ?8, ?9, ?3, null, null, null, null, null, null, null, null, ?10, ?11, null),
	(null, ?12, 2, 1, 0, ?1, ?2, ?3, ?4, null, null, null, ?13, ?5, ?14, ?15, ?3, null, null, null, null, null, null, null, null, ?16, ?17, null),
	(null, ?18, 2, 1, 0, ?1, ?2, ?3, ?4, null, null, null, ?19, ?5, ?20, ?21, ?3, null, null, null, null, null, null, null, null, ?22, ?23, null),
	(null, ?24, 2, 1, 0, ?1, ?2, ?3, ?4, null, null, null, ?25, ?5, ?26, ?27, ?3, null, null, null, null, null, null, null, null, ?28, ?29, null),
	(null, ?30, 2, 1, 0, ?1, ?2, ?3, ?4, null, null, null, ?31, ?5, ?32, ?33, ?3, null, null, null, null, null, null, null, null, ?34, ?35, null),
	(null, ?36, 2, 1, 0, ?1, ?2, ?3, ?4, null, null, null, ?37, ?5, ?38, ?39, ?3, null, null, null, null, null, null, null, null, ?40, ?41, null),
	(null, ?42, 2, 1, 0, ?1, ?2, ?3, ?4, null, null, null, ?43, ?5, ?44, ?45, ?3, null, null, null, null, null, null, null, null, ?46, ?47, null),
	(null, ?48, 2, 1, 0, ?1, ?2, ?3, ?4, null, null, null, ?49, ?5, ?50, ?51, ?3, null, null, null, null, null, null, null, null, ?52, ?53, null),
	(null, ?54, 2, 1, 0, ?1, ?2, ?3, ?4, null, null, null, ?55, ?5, ?56, ?57, ?3, null, null, null, null, null, null, null, null, ?58, ?59, null),
	(null, ?60, 2, 1, 0, ?1, ?2, ?3, ?4, null, null, null, ?61, ?5, ?62, ?63, ?3, null, null, null, null, null, null, null, null, ?64, ?65, null),
	(null, ?66, 2, 1, 0, ?1, ?2, ?3, ?4, null, null, null, ?67, ?5, ?68, ?69, ?3, null, null, null, null, null, null, null, null, ?70, ?71, null),
	(null, ?72, 2, 1, 0, ?1, ?2, ?3, ?4, null, null, null, ?73, ?5, ?74, ?75, ?3, null, null, null, null, null, null, null, null, ?76, ?77, null),
	(null, ?78, 2, 1, 0, ?1, ?2, ?3, ?4, null, null, null, ?79, ?5, ?80, ?81, ?3, null, null, null, null, null, null, null, null, ?82, ?83, null),
	(null, ?84, 2, 1, 0, ?1, ?2, ?3, ?4, null, null, null, ?85, ?5, ?86, ?87, ?3, null, null, null, null, null, null, null, null, ?88, ?89, null),
	(null, ?90, 2, 1, 0, ?1, ?2, ?3, ?4, null, null, null, ?91, ?5, ?92, ?93, ?3, null, null, null, null, null, null, null, null, ?94, ?95, null),
	(null, ?96, 2, 1, 0, ?1, ?2, ?3, ?4, null, null, null, ?97, ?5, ?98, ?99, ?3, null, null, null, null, null, null, null, null, ?100, ?101, null);

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
