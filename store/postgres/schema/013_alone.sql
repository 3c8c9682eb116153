-- What runs alone is found at once when it gets company. To see that nothing does, a claim passed over all that its worker had run before.
create index task_alone on task (worker) where state = 'running' and alone;
drop function if exists prepare_runs(uuid[], text, bigint);
drop function if exists parents_of(uuid[]), complete_plain(jsonb, bigint), complete_rest(uuid[], bigint[], uuid[], bytea[], bigint[], uuid[], bigint);
