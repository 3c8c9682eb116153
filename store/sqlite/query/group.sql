-- Groups: one row each, with what there is to be done with the members.

-- name: group_get takes an id; returns the group.
select record, waiting, living, ended, members, ripe, keeper, expires, gone from grp where id = ?1;

-- name: group_put takes a group.
insert or replace into grp (id, record, waiting, living, ended, members, ripe, keeper, expires, gone)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10);

-- name: group_delete takes the id of a group without members.
delete from grp where id = ?1 and members = 0;

-- name: group_kept takes a task; returns the groups that wait for its end.
select id from grp where keeper = ?1 order by id;

-- name: group_first_ripe returns the group whose members are to be tended first.
select id from grp where ripe is not null order by ripe limit 1;

-- name: group_last_ripe returns the last place among them.
select max(ripe) from grp where ripe is not null;

-- name: group_gone takes now; returns the first that may be removed.
select id from grp where gone <= ?1 order by gone, id limit 1;

-- name: group_page takes an id and a count; returns so many groups before that id, newest first.
select record, waiting, living, ended, members, ripe, keeper, expires, gone from grp where id < ?1 order by id desc limit ?2;

-- name: group_all returns all groups.
select record, waiting, living, ended, members, ripe, keeper, expires, gone from grp order by id;
