-- Schedules: the rule is the driver's to read; the store knows when to look again.

-- name: schedule_get takes a name; returns the schedule.
select record from schedule where name = ?1;

-- name: schedule_put takes name, when to look again, and the schedule.
insert or replace into schedule (name, next, record) values (?1, ?2, ?3);

-- name: schedule_delete takes a name.
delete from schedule where name = ?1;

-- name: schedule_page takes a name and a count; returns so many after that name.
select record from schedule where name > ?1 order by name limit ?2;

-- name: schedule_due takes now and a count; returns those whose time has come, soonest first.
select record from schedule where next <= ?1 order by next, name limit ?2;

-- name: schedule_next returns when the next one comes.
select next from schedule where next is not null order by next limit 1;
