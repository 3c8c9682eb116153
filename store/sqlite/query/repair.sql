-- What is derived of the records of tasks, counted anew.

-- name: repair_slots takes a limit key; returns how many tasks of it run.
select count(*) from task where worker is not null and lim = ?1;

-- name: repair_members takes a group; returns how many of its members are done, failed and cancelled, live, are on record, and in which stage.
select count(*) filter (where state = 6), count(*) filter (where state = 7), count(*) filter (where state = 8),
	count(*) filter (where state < 6), count(*), count(*) filter (where stage = 1), count(*) filter (where stage = 3),
	count(*) filter (where waiting is not null)
from task where grp = ?1;
