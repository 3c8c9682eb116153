-- The records. All times are nanoseconds since 1970 by the clock of the server; null is none. Names compare by bytes, as lanes
-- are visited in that order on every engine. A task lives in task until it ends, and in ended from then on: what is hot stays
-- small, and what has ended costs a claim nothing. What both have in common, and what is large, is in body, whose row is there from
-- Submit to Prune: it is what makes an id known.

create table body (
	id           uuid primary key,
	rest         bytea not null, -- what of the spec only readers need, in the codec of the program; its first byte is the format
	args         bytea,
	labels       jsonb,
	on_end       jsonb, -- a prepared spec
	error        bytea,
	retry_max    bigint not null,
	retry_base   bigint not null,
	retry_factor double precision not null,
	retry_cap    bigint not null,
	crash_spends boolean not null
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.2);

create table task (
	id            uuid primary key,
	state         text collate "C" not null,
	reason        text not null default '',
	version       bigint not null default 1,
	round         bigint not null default 0,
	wakes         bigint not null default 0,
	suspect       boolean not null default false,
	solo          boolean not null default false,
	alone         boolean not null default false,
	saves         bigint not null default 0,
	asked         text not null default '',
	told          boolean not null default false,
	stripped      boolean not null default false,
	epoch         bigint not null default 0,
	nonce         uuid,
	worker        text collate "C" not null default '',
	settled_epoch bigint not null default 0,
	settled_nonce uuid,
	settled_kind  text not null default '',
	staged        jsonb, -- a prepared outcome
	attempts      bigint not null default 0,
	crashes       bigint not null default 0,
	crash_run     bigint not null default 0,
	charged       boolean not null default false,
	created_at    bigint not null,
	due_at        bigint,
	ready_at      bigint,
	started_at    bigint,
	deadline_at   bigint,
	start_by_at   bigint,
	ended_at      bigint,
	updated_at    bigint not null,
	expire_at     bigint,
	progress_done bigint,
	progress_total bigint,
	progress_note bytea,
	progress_at   bigint,
	result        bytea,
	history       jsonb not null default '[]',
	kind          text collate "C" not null,
	queue         text collate "C" not null,
	lane          text collate "C" not null,
	lim           text collate "C" not null,
	flag          smallint not null, -- 0 plain, 1 ordered, 2 ordered and suspect, 3 suspect: the order of the names of lanes
	ord           text collate "C" not null,
	priority      bigint not null,
	rank          bigint not null, -- with turn and id the order inside a lane: the priority, negated; 0 if the lane is ordered
	turn          bigint not null default 0, -- of a ready task: when it was due; 0 if the lane is ordered
	timeout       bigint not null,
	owned         boolean not null,
	grp           uuid,
	stage         smallint not null default 0, -- of a member: 1 lives, 2 was asked by an abort, 3 has ended, 4 may expire
	line          bigint not null,
	parent        uuid,
	ukey          text collate "C" not null,
	ufor          bigint not null,
	fingerprint   text not null,
	retention     bigint not null,
	follows       boolean not null, -- it has an OnEnd
	entries       boolean not null default false, -- it has, or had, checkpoint entries
	inbox         boolean not null default false, -- it has, or had, messages
	failing       boolean not null default false, -- body.error is set
	keeps         boolean not null default false  -- a group waits for its end
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500,
	autovacuum_analyze_scale_factor = 0.1, autovacuum_vacuum_cost_delay = 0);

create index task_ready on task (queue, kind, lane, lim, flag, rank, turn, id) where state = 'ready';
create index task_due on task (due_at, id) where state in ('scheduled', 'parked') and due_at is not null;
create index task_worker on task (worker, id) where state = 'running';
create index task_deadline on task (deadline_at, id) where state = 'running' and deadline_at is not null;
create index task_start_by on task (start_by_at, id) where start_by_at is not null;
create index task_line on task (queue, kind, lane, lim, id) where ord <> '';
create index task_line_running on task (queue, kind, lane, lim) where state = 'running' and ord <> '';
create index task_waiting on task (grp, id) where state = 'held' and reason = 'group';
create index task_living on task (grp, id) where stage = 1;
create index task_member on task (grp, line, id) where grp is not null;
create index task_parent on task (parent, id) where parent is not null;
create index task_key on task (kind, ukey, id) where ukey <> '';
create index task_state on task (queue, state, id) where state <> 'ready';

create table ended (like task including defaults) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.2);
alter table ended add primary key (id);
create index ended_expire on ended (expire_at, id) where expire_at is not null;
create index ended_line on ended (queue, kind, lane, lim, id) where ord = 'block' and state = 'failed';
create index ended_unmarked on ended (grp, id) where stage = 3;
create index ended_member on ended (grp, line, id) where grp is not null;
create index ended_parent on ended (parent, id) where parent is not null;
create index ended_key on ended (kind, ukey, id) where ukey <> '';
create index ended_queue on ended (queue, state, id);

create table entry (task uuid, name bytea, value bytea not null, primary key (task, name));

create table message (
	task    uuid,
	id      uuid,
	name    text not null,
	body    bytea,
	sent_at bigint not null,
	pos     bigint, -- null: it was consumed
	primary key (task, id)
);

create table grp (
	id         uuid primary key,
	name       text not null,
	hold       boolean not null,
	seal       boolean not null,
	parent     uuid,
	on_close   jsonb, -- a prepared spec
	labels     jsonb,
	retention  bigint not null,
	kept       bigint not null, -- the retention as it was given
	state      text not null default 'filling',
	sealed     boolean not null default false,
	aborting   text not null default '',
	generation bigint not null default 1,
	version    bigint not null default 1,
	total      bigint not null default 0,
	done       bigint not null default 0,
	failed     bigint not null default 0,
	cancelled  bigint not null default 0,
	keeper     uuid,
	created_at bigint not null,
	closed_at  bigint,
	updated_at bigint not null,
	waiting    bigint not null default 0, -- members that wait for it to open
	living     bigint not null default 0, -- members of stage 1
	ended      bigint not null default 0, -- members of stage 3
	members    bigint not null default 0, -- on record
	expiring   boolean not null default false, -- its keeper has ended
	ripe       bigint, -- its place among those whose members are to be freed, asked or marked
	gone_at    bigint  -- when it may be removed
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
create index grp_ripe on grp (ripe) where ripe is not null;
create index grp_gone on grp (gone_at, id) where gone_at is not null;
create index grp_keeper on grp (keeper) where keeper is not null;
create sequence ripe;

create table key (
	kind  text collate "C",
	key   text collate "C",
	task  uuid not null,
	until bigint,
	primary key (kind, key)
) with (autovacuum_vacuum_scale_factor = 0.05);

-- Running tasks of a limit key are counted whether or not a limit was set for it.
create table lim (
	key     text collate "C" primary key,
	is_set  boolean not null default false,
	most    bigint not null default 0,
	rates   jsonb not null default '[]',
	steps   bigint[] not null default '{}', -- time between starts, of each rate
	bursts  bigint[] not null default '{}', -- what a full burst is worth
	tats    bigint[] not null default '{}', -- GCRA: theoretical arrival times
	running bigint not null default 0
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 100);

create table pause (
	queue text collate "C", kind text collate "C", lane text collate "C", reason bytea not null, at bigint not null, until bigint,
	primary key (queue, kind, lane)
);

create table weight (queue text collate "C", lane text collate "C", weight bigint not null, primary key (queue, lane));

create table schedule (
	name       text collate "C" primary key,
	rule       bytea not null,
	zone       bytea not null,
	catch_up   bytea not null,
	overlap    text not null,
	jitter     bigint not null,
	paused     boolean not null,
	task       jsonb not null, -- a prepared spec
	version    bigint not null,
	last_tick  bigint,
	next_at    bigint,
	last_task  uuid,
	created_at bigint not null,
	updated_at bigint not null
);
create index schedule_next on schedule (next_at, name) where not paused and next_at is not null;

-- Workers. What changes with every beat is in a row of its own.
create table worker (
	id         text collate "C" primary key,
	beat       bigint not null,
	dead_after bigint not null,
	joined_at  bigint not null,
	dead_at    bigint,
	death      text not null default '',
	held_at    bigint not null default 0,
	evidence   text not null,
	session    bigint, -- key of the lock that its session holds
	boot       bigint, -- of the server on which it holds it
	since      bigint, -- when the session began
	info       bytea not null
);
create index worker_living on worker (dead_after) where dead_at is null;

create table beat (
	worker  text collate "C" primary key,
	beat_at bigint not null,
	gone_at bigint, -- when its session was first seen gone
	seen_at bigint not null default 0,     -- when a pass last saw its session
	vouched boolean not null default false, -- one whose session is old enough has seen it gone
	load    bytea not null
) with (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_cost_delay = 0);

-- What the fleet shares: the pulse, and the gates.
create table fleet (
	one         boolean primary key default true check (one),
	pulse_since bigint not null default 0,
	pulse_last  bigint not null default 0,
	recover_at  bigint not null default 0,
	recover_by  bigint not null default 0,
	suspect_at  bigint not null default 0,
	vacuum_at   bigint not null default 0
) with (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_cost_delay = 0);
insert into fleet default values;

-- Statistics per minute. Each of a few shards is written by some connections only, and read as one.
create table stat (
	at bigint, queue text collate "C", kind text collate "C", shard smallint,
	submitted bigint not null default 0, claimed bigint not null default 0, done bigint not null default 0,
	failed bigint not null default 0, cancelled bigint not null default 0, retried bigint not null default 0,
	crashed bigint not null default 0, waited bigint not null default 0, ran bigint not null default 0,
	primary key (at, queue, kind, shard)
) with (fillfactor = 50);

-- Handles that follow tasks: as long as there is one, changes of tasks are told.
create unlogged table watch (handle text primary key, until bigint not null);

-- Blobs: large payloads in chunks, each written once. What is stored is listed without a look at the chunks.
create table blob (key text collate "C" primary key, at bigint not null);
create table chunk (key text collate "C", number bigint, data bytea not null, primary key (key, number));
alter table chunk alter data set storage external;
