-- Unique keys that are held.

-- name: key_get takes kind and key; returns who holds it, and until when.
select task, until from key where kind = ?1 and key = ?2;

-- name: key_put takes kind, key, task and until.
insert or replace into key (kind, key, task, until) values (?1, ?2, ?3, ?4);

-- name: key_delete takes kind, key and the task that holds it.
delete from key where kind = ?1 and key = ?2 and task = ?3;

-- name: key_all returns all keys.
select kind, key, task, until from key order by kind, key;
