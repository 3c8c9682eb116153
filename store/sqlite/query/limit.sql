-- Limits: how many run under a key, and the rates of those that were set.

-- name: limit_get takes a key; returns its row.
select key, conf, running, tats from limits where key = ?1;

-- name: limit_list returns all rows by key.
select key, conf, running, tats from limits order by key;

-- name: limit_put takes a row.
insert or replace into limits (key, conf, running, tats) values (?1, ?2, ?3, ?4);

-- name: limit_delete takes a key.
delete from limits where key = ?1;

-- name: broken_put takes a task, its line and when it failed.
insert or replace into broken (task, line, at) values (?1, ?2, ?3);

-- name: broken_delete takes a task.
delete from broken where task = ?1;

-- name: broken_get takes a line, a time and a task; returns whether one before that task failed since then.
select exists (select 1 from broken where line = ?1 and at >= ?2 and task < ?3);
