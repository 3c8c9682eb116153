-- Lists of tasks, each over an index, from where the page before has ended.

-- name: list_all_newest takes an id and a count; returns so many tasks before that id.
select * from record where id < ?1 order by id desc limit ?2;

-- name: list_all_oldest takes an id and a count; returns so many tasks after that id.
select * from record where id > ?1 order by id limit ?2;

-- name: list_failed_newest is list_all_newest of those that failed.
select * from record where state = 7 and id < ?1 order by id desc limit ?2;

-- name: list_failed_oldest is list_all_oldest of those that failed.
select * from record where state = 7 and id > ?1 order by id limit ?2;

-- name: list_parent_newest is list_all_newest of those of a parent.
select * from record where parent = ?1 and id < ?2 order by id desc limit ?3;

-- name: list_parent_oldest is list_all_oldest of those of a parent.
select * from record where parent = ?1 and id > ?2 order by id limit ?3;

-- name: list_worker_newest is list_all_newest of those that run under a worker.
select * from record where worker = ?1 and id < ?2 order by id desc limit ?3;

-- name: list_worker_oldest is list_all_oldest of those that run under a worker.
select * from record where worker = ?1 and id > ?2 order by id limit ?3;

-- name: list_unique_newest is list_all_newest of those of a kind and unique key.
select * from record where kind = ?1 and uniq = ?2 and id < ?3 order by id desc limit ?4;

-- name: list_unique_oldest is list_all_oldest of those of a kind and unique key.
select * from record where kind = ?1 and uniq = ?2 and id > ?3 order by id limit ?4;

-- name: list_group takes a group, a line, an id and a count; returns so many members after them, by line, then id.
select * from record where grp = ?1 and (place, id) > (?2, ?3) order by place, id limit ?4;
