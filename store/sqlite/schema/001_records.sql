-- The records of one namespace. Times are nanoseconds since 1970 in UTC, ids are blobs of 16 bytes, and a column that says
-- where a task stands in an order is null while it stands in none: so every order is a partial index over those that are
-- in it, and nothing else costs it anything.

create table meta (
	name  text primary key,
	value
) without rowid;

create table task (
	seq      integer primary key,
	id       blob    not null unique,
	state    integer not null, -- see codec.go
	version  integer not null,
	epoch    integer not null,
	queue    text    not null,
	kind     text    not null,
	created  integer not null,
	lim      text,    -- limit key
	uniq     text,    -- unique key
	parent   blob,
	grp      blob,
	place    integer, -- line in the group, for listing

	lane     integer, -- ready: in this lane,
	rank     integer, -- by this,
	turn     integer, -- then by this, then by id,
	since    integer, -- since then
	wait     integer, -- scheduled or parked until then
	start_by integer, -- not started: to be started by then
	worker   text,    -- running: under this worker
	deadline integer, -- running: until then
	line     blob,    -- in the line of this ordered lane
	waiting  blob,    -- held until this group opens
	stage    integer, -- of a member: living, asked or ended
	expire   integer, -- terminal: removed after that

	body     blob    not null, -- what changes: see codec.go
	spec     blob    not null  -- what was submitted
);

create index task_ready    on task (lane, rank, turn, id, since) where lane is not null;
create index task_wait     on task (wait, id)              where wait is not null;
create index task_start_by on task (start_by, id)          where start_by is not null;
create index task_worker   on task (worker, id)            where worker is not null;
create index task_deadline on task (deadline, id)          where deadline is not null;
create index task_line     on task (line, id)              where line is not null;
create index task_in_line  on task (line)                  where line is not null and worker is not null;
create index task_waiting  on task (waiting, id)           where waiting is not null;
create index task_stage    on task (grp, stage, id)        where stage is not null;
create index task_expire   on task (expire, id)            where expire is not null;
create index task_member   on task (grp, place, id)        where grp is not null;
create index task_parent   on task (parent, id)            where parent is not null;
create index task_uniq     on task (kind, uniq, id)        where uniq is not null;
create index task_failed   on task (id)                    where state = 7;

create table entry (
	task  integer not null,
	name  text    not null,
	value blob    not null,
	primary key (task, name)
) without rowid;

create table message (
	task    integer not null,
	id      blob    not null,
	name    text    not null,
	body    blob,
	sent    integer not null,
	pos     integer,          -- in the order of coming; null: consumed
	primary key (task, id)
) without rowid;

create table key (
	kind  text    not null,
	key   text    not null,
	task  blob    not null,
	until integer not null, -- 0: until its task lets go
	primary key (kind, key)
) without rowid;

-- A lane exists while it has ready tasks. It tells what ranks it, so that a claim reads lanes and not tasks.
create table lane (
	id       integer primary key,
	queue    text    not null,
	kind     text    not null,
	name     blob    not null,
	key      text    not null,
	lim      text    not null,
	ordered  integer not null,
	suspect  integer not null,
	ready    integer not null,
	head     blob    not null, -- the first task,
	rank     integer not null,
	turn     integer not null,
	priority integer not null, -- and what of it ranks the lane
	since    integer not null,
	charged  integer not null,
	unique (queue, kind, name)
);

create table queue (
	name      text primary key,
	total     integer not null,
	ready     integer not null,
	scheduled integer not null,
	parked    integer not null,
	running   integer not null
) without rowid;

create table grp (
	id      blob primary key,
	record  text    not null, -- JSON
	waiting integer not null, -- held until it opens
	living  integer not null, -- not ended, and not asked to by an abort
	ended   integer not null, -- not yet given an expiry
	members integer not null, -- on record
	ripe    integer,          -- has members to tend; in this order
	keeper  blob,             -- closed, and waits for this task to end
	expires integer not null, -- its keeper has ended
	gone    integer           -- without members: removed after that
) without rowid;

create index grp_ripe   on grp (ripe)   where ripe is not null;
create index grp_keeper on grp (keeper) where keeper is not null;
create index grp_gone   on grp (gone)   where gone is not null;

create table worker (
	id         text primary key,
	beat       integer not null,
	dead_after integer not null,
	joined     integer not null,
	beat_at    integer not null, -- of one that is dead or in doubt; those of others are in their files
	dead_at    integer not null, -- 0: alive
	death      text    not null,
	held       integer not null, -- tasks when it was declared dead
	evidence   text    not null,
	inode      integer not null, -- of its lock file; 0: it has none
	machine    text    not null,
	boot       text    not null,
	info       text    not null, -- JSON
	load       text    not null, -- JSON, of one that is dead
	doubt      integer not null  -- about its file; while that says this, beat_at counts
) without rowid;

create table limits (
	key     text primary key,
	conf    text    not null, -- JSON; empty: no limit is set, and only the count is kept
	running integer not null,
	tats    text    not null  -- JSON: the theoretical arrival time of each rate
) without rowid;

create table pause (
	queue  text    not null,
	kind   text    not null,
	lane   text    not null,
	reason text    not null,
	at     integer not null,
	until  integer not null, -- 0: until Resume
	primary key (queue, kind, lane)
) without rowid;

create table weight (
	queue  text    not null,
	lane   text    not null,
	weight integer not null,
	primary key (queue, lane)
) without rowid;

create table schedule (
	name   text primary key,
	next   integer, -- null: never, or paused
	record text not null -- JSON
) without rowid;

create index schedule_next on schedule (next, name) where next is not null;

create table minute (
	at        integer not null,
	queue     text    not null,
	kind      text    not null,
	submitted integer not null,
	claimed   integer not null,
	done      integer not null,
	failed    integer not null,
	cancelled integer not null,
	retried   integer not null,
	crashed   integer not null,
	waited    integer not null,
	ran       integer not null,
	primary key (at, queue, kind)
) without rowid;

-- A task as readTask reads it.
create view record as select
	seq, id, state, version, epoch, created, lane, stage, queue, kind, lim, uniq, parent, grp, worker, body, spec,
	rank, turn, since, wait, start_by, deadline, line, waiting, expire, place
from task;

pragma application_id = 1330992204;
pragma user_version = 1;
