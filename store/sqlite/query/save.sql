-- Checkpoint entries of a task.

-- name: entry_put takes task, name and value.
insert or replace into entry (task, name, value) values (?1, ?2, ?3);

-- name: entry_delete takes task and name.
delete from entry where task = ?1 and name = ?2;

-- name: entry_delete_all takes a task that is stripped or removed.
delete from entry where task = ?1;

-- name: entry_get takes task and name; returns the value.
select value from entry where task = ?1 and name = ?2;

-- name: entry_there takes task and name; returns whether there is one.
select exists (select 1 from entry where task = ?1 and name = ?2);

-- name: entry_all takes a task; returns names and values.
select name, value from entry where task = ?1 order by name;
