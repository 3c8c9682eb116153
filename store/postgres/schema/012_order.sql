-- A claim writes a task anew, and to see which indexes that concerns the server looks at each column that is in one, in the old record and in the
-- new. What stands behind a column of no fixed length it finds by passing over all columns before it, so those that are in indexes come first. Only a
-- namespace that is made just now, without functions yet, has them so: to write an old one's tasks anew would keep its workers waiting, and nothing
-- depends on the order.

do $do$
declare
	def text;
	defs constant text[] := array(
		select indexdef from pg_indexes where schemaname = current_schema() and tablename in ('task', 'ended') and indexname not in ('task_pkey', 'ended_pkey')
	);
begin
	if to_regproc('begin_step') is not null then
		return;
	end if;
	drop table ended, task;
	create table task (
		id             uuid primary key,
		rank           bigint not null, -- with turn and id the order inside a lane: the priority, negated; 0 if the lane is ordered
		turn           bigint not null default 0, -- of a ready task: when it was due; 0 if the lane is ordered
		line           bigint not null,
		priority       bigint not null,
		flag           smallint not null, -- 0 plain, 1 ordered, 2 ordered and suspect, 3 suspect: the order of the names of lanes
		stage          smallint not null default 0, -- of a member: 1 lives, 2 was asked by an abort, 3 has ended, 4 may expire
		state          text collate "C" not null,
		worker         text collate "C" not null default '',
		queue          text collate "C" not null,
		kind           text collate "C" not null,
		lane           text collate "C" not null,
		lim            text collate "C" not null,
		ord            text collate "C" not null,
		ukey           text collate "C" not null,
		reason         text not null default '',
		due_at         bigint,
		start_by_at    bigint,
		deadline_at    bigint,
		grp            uuid,
		parent         uuid,
		created_at     bigint not null,
		updated_at     bigint not null,
		version        bigint not null default 1,
		epoch          bigint not null default 0,
		timeout        bigint not null,
		retention      bigint not null,
		ufor           bigint not null,
		round          bigint not null default 0,
		wakes          bigint not null default 0,
		saves          bigint not null default 0,
		settled_epoch  bigint not null default 0,
		attempts       bigint not null default 0,
		crashes        bigint not null default 0,
		crash_run      bigint not null default 0,
		suspect        boolean not null default false,
		solo           boolean not null default false,
		alone          boolean not null default false,
		told           boolean not null default false,
		stripped       boolean not null default false,
		charged        boolean not null default false,
		owned          boolean not null,
		follows        boolean not null, -- it has an OnEnd
		entries        boolean not null default false, -- it has, or had, checkpoint entries
		inbox          boolean not null default false, -- it has, or had, messages
		failing        boolean not null default false, -- body.error is set
		keeps          boolean not null default false, -- a group waits for its end
		asked          text not null default '',
		settled_kind   text not null default '',
		fingerprint    text not null,
		ready_at       bigint,
		started_at     bigint,
		ended_at       bigint,
		expire_at      bigint,
		nonce          uuid,
		settled_nonce  uuid,
		progress_done  bigint,
		progress_total bigint,
		progress_at    bigint,
		progress_note  bytea,
		staged         jsonb, -- a prepared outcome
		result         bytea,
		history        jsonb not null default '[]'
	) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500,
		autovacuum_analyze_scale_factor = 0.1, autovacuum_vacuum_cost_delay = 0);
	create table ended (like task including defaults) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.2);
	alter table ended add primary key (id);
	foreach def in array defs loop
		execute def;
	end loop;
end $do$;

-- What runs is found by its worker, and of a worker's by the deadline: one index to write where there were three. What waits is found by its state.
drop index task_worker, task_deadline, task_state;
create index task_running on task (worker, deadline_at, id) where state = 'running';
create index task_waits on task (queue, state, id) where state <> 'ready' and state <> 'running';
