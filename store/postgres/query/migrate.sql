-- Migrations.

-- name: schema_there takes a schema; returns whether it is one of ours. It reads the catalogue as of now: to_regclass may answer from before
-- the lock that a migration has waited for.
select exists (select 1 from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relname = 'version');

-- name: schema_version returns the version of the schema.
select number from ns.version;

-- name: migrate_lock takes a key; keeps others from migrating until the transaction ends.
select pg_advisory_xact_lock($1);

-- name: migrate_schema makes the schema of a namespace, and what tells it from all others, of whatever name.
create schema if not exists :schema; create table ns.version (number bigint not null, id text not null);
insert into ns.version values (0, replace(gen_random_uuid()::text, '-', ''));

-- name: namespace_id returns what tells this namespace from all others.
select id from ns.version;

-- name: migrate_path makes the files find their tables. Functions may call one another in any order.
set local search_path to :schema, pg_temp; set local check_function_bodies to off; set local client_min_messages to warning;

-- name: migrate_version takes the version that the schema has now.
update ns.version set number = :version;

-- name: migrate_calls fixes what the functions that are called from outside find, whoever calls them, also through a pooler. Their
-- statements are made for the indexes of this schema: a plan that was made for an empty table must not stay when it is full.
do $do$
declare
	f regprocedure;
begin
	for f in
		select p.oid::regprocedure from pg_proc p join pg_namespace n on n.oid = p.pronamespace
		where n.nspname = ':name' and (p.proname in ('queues_of', 'queue_paused', 'lane_page', 'weight_of', 'put_chunk', 'delete_blob', 'exchange', 'complete_done')
			or p.pronargs = 1 and p.proargtypes[0] = 'jsonb'::regtype and p.proname not in ('begin_step', 'valid', 'put_body'))
	loop
		execute format('alter function %s set search_path to :schema, pg_temp', f);
		execute format('alter function %s set enable_seqscan to off', f);
		execute format('alter function %s set enable_bitmapscan to off', f);
		execute format('alter function %s set enable_hashjoin to off', f);
		execute format('alter function %s set enable_mergejoin to off', f);
		execute format('alter function %s set plan_cache_mode to force_generic_plan', f);
		execute format('alter function %s set jit to off', f);
	end loop;
end $do$;

-- name: drop_schema removes a namespace with all that is in it.
drop schema if exists :schema cascade;
